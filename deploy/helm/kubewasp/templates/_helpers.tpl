{{- define "kubewasp.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "kubewasp.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "kubewasp.labels" -}}
{{ include "kubewasp.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "kubewasp.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "kubewasp.leaseNamespace" -}}
{{ .Values.leaderElection.resourceNamespace | default .Release.Namespace }}
{{- end -}}

{{- define "kubewasp.leaseName" -}}
{{ .Values.leaderElection.resourceName | default (include "kubewasp.name" .) }}
{{- end -}}

{{/* Where the guest of a plugin is, as its args say it. Plugins of files are mounted in a folder of their own name. */}}
{{- define "kubewasp.guestURL" -}}
{{- if .url -}}
{{ .url }}
{{- else if .configMap -}}
file:///var/lib/kubewasp/plugins/{{ .name }}/{{ .configMap.key }}
{{- else -}}
file:///var/lib/kubewasp/plugins/{{ .name }}/{{ .path }}
{{- end -}}
{{- end -}}

{{/* The profile of the release's own pods: the plugins of the values, and what `config.profile` adds. */}}
{{- define "kubewasp.profile" -}}
{{- $profile := deepCopy .Values.config.profile -}}
{{- $plugins := $profile.plugins | default dict -}}
{{- $everywhere := $plugins.multiPoint | default dict -}}
{{- $enabled := list -}}
{{- $pluginConfig := list -}}
{{- range .Values.plugins -}}
{{- $enabled = append $enabled (pick . "name" "weight") -}}
{{- $where := dict "guestURL" (include "kubewasp.guestURL" .) -}}
{{- $args := merge $where (pick . "sha256") (.args | default dict) -}}
{{- $pluginConfig = append $pluginConfig (dict "name" .name "args" $args) -}}
{{- end -}}
{{- with concat $enabled ($everywhere.enabled | default list) -}}
{{- $_ := set $everywhere "enabled" . -}}
{{- $_ := set $plugins "multiPoint" $everywhere -}}
{{- $_ := set $profile "plugins" $plugins -}}
{{- end -}}
{{- with concat $pluginConfig ($profile.pluginConfig | default list) -}}
{{- $_ := set $profile "pluginConfig" . -}}
{{- end -}}
{{- $_ := set $profile "schedulerName" .Values.schedulerName -}}
{{- toYaml $profile -}}
{{- end -}}

{{/* The KubeSchedulerConfiguration. */}}
{{- define "kubewasp.config" -}}
{{- $own := include "kubewasp.profile" . | fromYaml -}}
{{- $election := dict
  "leaderElect" true
  "resourceNamespace" (include "kubewasp.leaseNamespace" .)
  "resourceName" (include "kubewasp.leaseName" .) -}}
{{- $config := dict
  "apiVersion" "kubescheduler.config.k8s.io/v1"
  "kind" "KubeSchedulerConfiguration"
  "leaderElection" $election
  "profiles" (prepend .Values.config.extraProfiles $own) -}}
{{- if .Values.registries.pullSecret -}}
{{- $_ := set $config "registries" (dict "credentialsFile" "/var/lib/kubewasp/pull-secret") -}}
{{- end -}}
{{- toYaml (merge $config (deepCopy .Values.config.extra)) -}}
{{- end -}}
