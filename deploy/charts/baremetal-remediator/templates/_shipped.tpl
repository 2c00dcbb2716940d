{{/* Documents that deploy/ ships, with the daemon in the namespace of the release. */}}
{{- define "shipped" -}}
{{- range .files }}
---
{{ $.root.Files.Get (printf "files/%s.yaml" .) | replace "baremetal-remediator-system" $.root.Release.Namespace }}
{{- end }}
{{- end }}
