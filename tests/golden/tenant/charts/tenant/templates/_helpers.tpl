{{/* What the chart is called in labels. */}}
{{- define "tenant.name" -}}
{{- default "tenant" .Values.nameOverride -}}
{{- end -}}

{{/* What the names of all objects begin with. */}}
{{- define "tenant.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains (default .Chart.Name .Values.nameOverride) .Release.Name -}}
{{- .Release.Name -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (default .Chart.Name .Values.nameOverride) -}}
{{- end -}}
{{- end -}}

{{/* The Service of the metrics: no other name may have 63 characters at most. */}}
{{- define "tenant.metricsService" -}}
{{- $name := include "tenant.fullname" . | trunc 55 | trimSuffix "-" -}}
{{- printf "%s-metrics" $name -}}
{{- end -}}

{{- define "tenant.metricsPort" -}}
{{- .Values.metrics.port | default (ternary 8443 8080 .Values.metrics.secure) | int -}}
{{- end -}}

{{/* What the names of the webhooks' objects begin with: that of a Service may have 63 characters at most. */}}
{{- define "tenant.webhookPrefix" -}}
{{- $name := include "tenant.fullname" . | trunc 47 | trimSuffix "-" -}}
{{- printf "%s-" $name -}}
{{- end -}}

{{/* Who makes their certificates: operator, certmanager, or you, as files. */}}
{{- define "tenant.webhookCertificates" -}}
{{- if .Values.webhook.secret }}files{{ else if .Values.certmanager.enable }}certmanager{{ else }}operator{{ end -}}
{{- end -}}

{{- define "tenant.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- $name := printf "%s-controller-manager" (include "tenant.fullname" .) -}}
{{- default $name .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name must be given if serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* By which the Pods are found, those of this release alone. */}}
{{- define "tenant.selectorLabels" -}}
app.kubernetes.io/name: {{ include "tenant.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
control-plane: controller-manager
{{- end -}}

{{- define "tenant.labels" -}}
app.kubernetes.io/name: {{ include "tenant.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | replace "+" "_" | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" | quote }}
{{- end -}}

{{/* Whether metrics are served over HTTPS: a text, which is empty if they are not. */}}
{{- define "tenant.metricsSecure" -}}
{{- if and .Values.metrics.enable .Values.metrics.secure }}true{{ end -}}
{{- end -}}

{{/* Whether cert-manager makes the certificate for that. */}}
{{- define "tenant.metricsCertificate" -}}
{{- if and (include "tenant.metricsSecure" .) .Values.certmanager.enable }}true{{ end -}}
{{- end -}}
