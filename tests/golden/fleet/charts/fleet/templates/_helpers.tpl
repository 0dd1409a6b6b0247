{{/* The name of the chart in labels. */}}
{{- define "fleet.name" -}}
{{- default "fleet" .Values.nameOverride -}}
{{- end -}}

{{/* The prefix of the names of all objects. */}}
{{- define "fleet.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains (default .Chart.Name .Values.nameOverride) .Release.Name -}}
{{- .Release.Name -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (default .Chart.Name .Values.nameOverride) -}}
{{- end -}}
{{- end -}}

{{/* The name of the Service of the metrics. The name of a Service has at most 63 characters. */}}
{{- define "fleet.metricsService" -}}
{{- $name := include "fleet.fullname" . | trunc 55 | trimSuffix "-" -}}
{{- printf "%s-metrics" $name -}}
{{- end -}}

{{- define "fleet.metricsPort" -}}
{{- .Values.metrics.port | default (ternary 8443 8080 .Values.metrics.secure) | int -}}
{{- end -}}

{{/* The prefix of the names of the webhooks' objects, short enough for the name of their Service. */}}
{{- define "fleet.webhookPrefix" -}}
{{- $name := include "fleet.fullname" . | trunc 47 | trimSuffix "-" -}}
{{- printf "%s-" $name -}}
{{- end -}}

{{/* The source of the webhooks' certificates: operator, certmanager, files, or url if the operator runs elsewhere. */}}
{{- define "fleet.webhookCertificates" -}}
{{- if not (include "fleet.runs" .) }}url{{ else if .Values.webhook.secret }}files{{ else if .Values.certmanager.enable }}certmanager{{ else }}operator{{ end -}}
{{- end -}}

{{/* Whether the operator runs in this cluster: a text, which is empty if it does not. */}}
{{- define "fleet.runs" -}}
{{- if ne (toString (.Values.manager).enabled) "false" }}true{{ end -}}
{{- end -}}

{{- define "fleet.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- $name := printf "%s-controller-manager" (include "fleet.fullname" .) -}}
{{- default $name .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name must be given if serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* The labels that select the Pods of this release. */}}
{{- define "fleet.selectorLabels" -}}
app.kubernetes.io/name: {{ include "fleet.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
control-plane: controller-manager
{{- end -}}

{{- define "fleet.labels" -}}
app.kubernetes.io/name: {{ include "fleet.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | replace "+" "_" | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" | quote }}
{{- end -}}

{{/* The kind of the operator's role: `Role`, or `ClusterRole` if the operator works in all namespaces. */}}
{{- define "fleet.roleKind" -}}
{{- if (.Values.rbac).namespaced }}Role{{ else }}ClusterRole{{ end -}}
{{- end -}}

{{/* Whether metrics are served over HTTPS: a text, which is empty if they are not. */}}
{{- define "fleet.metricsSecure" -}}
{{- if and .Values.metrics.enable .Values.metrics.secure }}true{{ end -}}
{{- end -}}

{{/* Whether cert-manager makes the certificate for that. */}}
{{- define "fleet.metricsCertificate" -}}
{{- if and (include "fleet.metricsSecure" .) .Values.certmanager.enable }}true{{ end -}}
{{- end -}}
