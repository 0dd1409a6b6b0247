{{/* What the chart is called in labels. */}}
{{- define "warden.name" -}}
{{- default "warden" .Values.nameOverride -}}
{{- end -}}

{{/* What the names of all objects begin with. */}}
{{- define "warden.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains (default .Chart.Name .Values.nameOverride) .Release.Name -}}
{{- .Release.Name -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (default .Chart.Name .Values.nameOverride) -}}
{{- end -}}
{{- end -}}

{{/* The Service of the metrics: no other name may have 63 characters at most. */}}
{{- define "warden.metricsService" -}}
{{- $name := include "warden.fullname" . | trunc 55 | trimSuffix "-" -}}
{{- printf "%s-metrics" $name -}}
{{- end -}}

{{- define "warden.metricsPort" -}}
{{- .Values.metrics.port | default (ternary 8443 8080 .Values.metrics.secure) | int -}}
{{- end -}}

{{/* What the names of the webhooks' objects begin with: that of a Service may have 63 characters at most. */}}
{{- define "warden.webhookPrefix" -}}
{{- $name := include "warden.fullname" . | trunc 47 | trimSuffix "-" -}}
{{- printf "%s-" $name -}}
{{- end -}}

{{/* Who makes their certificates: operator, certmanager, or you, as files. */}}
{{- define "warden.webhookCertificates" -}}
{{- if .Values.webhook.secret }}files{{ else if .Values.certmanager.enable }}certmanager{{ else }}operator{{ end -}}
{{- end -}}

{{- define "warden.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- $name := printf "%s-controller-manager" (include "warden.fullname" .) -}}
{{- default $name .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name must be given if serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* By which the Pods are found, those of this release alone. */}}
{{- define "warden.selectorLabels" -}}
app.kubernetes.io/name: {{ include "warden.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
control-plane: controller-manager
{{- end -}}

{{- define "warden.labels" -}}
app.kubernetes.io/name: {{ include "warden.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | replace "+" "_" | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" | quote }}
{{- end -}}

{{/* What the operator's rights are in: `Role`, or `ClusterRole` where it works in all namespaces. */}}
{{- define "warden.roleKind" -}}
{{- if (.Values.rbac).namespaced }}Role{{ else }}ClusterRole{{ end -}}
{{- end -}}

{{/* Whether metrics are served over HTTPS: a text, which is empty if they are not. */}}
{{- define "warden.metricsSecure" -}}
{{- if and .Values.metrics.enable .Values.metrics.secure }}true{{ end -}}
{{- end -}}

{{/* Whether cert-manager makes the certificate for that. */}}
{{- define "warden.metricsCertificate" -}}
{{- if and (include "warden.metricsSecure" .) .Values.certmanager.enable }}true{{ end -}}
{{- end -}}
