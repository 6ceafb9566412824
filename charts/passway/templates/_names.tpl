{{- define "passway.selector" -}}
app.kubernetes.io/name: passway
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "passway.labels" -}}
{{ include "passway.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
{{- define "passway.name" -}}
{{- if eq .Release.Name "passway" }}passway{{ else }}{{ printf "%s-passway" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}
{{- define "passway.oneReplica" -}}
{{- if not .Values.audit.database.secretName }}true{{ end }}
{{- end }}
