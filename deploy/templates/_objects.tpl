{{/*
The manifests beside this folder are what is installed. These templates read them, and put the values in.
A template that is given an object changes it, and prints nothing unless it says so.
*/}}

{{/* Prints an object of the release. Takes a list: the root, and the object. */}}
{{- define "drover.print" -}}
{{- $root := index . 0 -}}
{{- $object := index . 1 -}}
{{- $labels := dict "app.kubernetes.io/name" "drover" "app.kubernetes.io/instance" $root.Release.Name "app.kubernetes.io/version" $root.Chart.AppVersion "app.kubernetes.io/managed-by" $root.Release.Service "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_") -}}
{{- $_ := set $object.metadata "labels" (merge (deepCopy (default dict $object.metadata.labels)) $labels) -}}
{{- if and (not $object.metadata.namespace) (not (has $object.kind (list "ClusterRole" "ClusterRoleBinding" "FlowSchema" "PriorityLevelConfiguration"))) -}}
{{- $_ := set $object.metadata "namespace" $root.Release.Namespace -}}
{{- end -}}
{{- if and (eq $object.kind "ServiceAccount") $root.Values.serviceAccount.annotations -}}
{{- $_ := set $object.metadata "annotations" (merge (deepCopy (default dict $object.metadata.annotations)) $root.Values.serviceAccount.annotations) -}}
{{- end -}}
{{- range $object.subjects -}}
{{- $_ := set . "namespace" $root.Release.Namespace -}}
{{- end -}}
---
{{ toYaml $object }}
{{ end -}}

{{/*
Prints a role or a binding. Takes a list: the root, and the object. If the release serves namespaces alone, it is in each
of them instead of the whole cluster.
*/}}
{{- define "drover.print-role" -}}
{{- $root := index . 0 -}}
{{- $object := index . 1 -}}
{{- if and $root.Values.namespaces (contains "Role" $object.kind) -}}
{{- $_ := set $object "kind" (trimPrefix "Cluster" $object.kind) -}}
{{- if $object.roleRef -}}
{{- $_ := set $object.roleRef "kind" "Role" -}}
{{- end -}}
{{- range $root.Values.namespaces -}}
{{- $own := deepCopy $object -}}
{{- $_ := set $own.metadata "namespace" . -}}
{{ include "drover.print" (list $root $own) }}
{{- end -}}
{{- else -}}
{{ include "drover.print" . }}
{{- end -}}
{{- end -}}

{{/* Prints a setting as the text that a variable holds. Not "quote", which writes 1000000 as 1e+06. */}}
{{- define "drover.text" -}}
{{- if kindIs "slice" . }}{{ join "," . }}{{ else }}{{ toJson . | trimAll "\"" }}{{ end -}}
{{- end -}}

{{/*
Gives the pod of a workload what values say of all pods. Takes a list: the root, the workload, the values of its own, and
variables.
*/}}
{{- define "drover.pod" -}}
{{- $root := index . 0 -}}
{{- $template := (index . 1).spec.template -}}
{{- $own := index . 2 -}}
{{- $env := index . 3 -}}
{{- $values := $root.Values -}}
{{- $spec := $template.spec -}}
{{- $container := index $spec.containers 0 -}}
{{- $image := $values.image -}}
{{- $version := printf ":%s" (default $root.Chart.AppVersion $image.tag) -}}
{{- if $image.digest }}{{ $version = printf "@%s" $image.digest }}{{ end -}}
{{- $_ := set $container "image" (print $image.repository $version) -}}
{{- $_ := set $container "imagePullPolicy" $image.pullPolicy -}}
{{- $_ := set $container "resources" $own.resources -}}
{{- $_ := set $container "env" (concat $env (default list $container.env) $values.environment) -}}
{{- $_ := unset $container "envFrom" -}}

{{- $pods := $values.pods -}}
{{- $_ := set $template.metadata "labels" (merge $template.metadata.labels $pods.labels) -}}
{{- range $field, $value := dict "imagePullSecrets" $image.pullSecrets "priorityClassName" $pods.priorityClassName "nodeSelector" $pods.nodeSelector "tolerations" $pods.tolerations "affinity" $pods.affinity -}}
{{- if $value }}{{ $_ := set $spec $field $value }}{{ end -}}
{{- end -}}
{{- with $pods.annotations -}}
{{- $_ := set $template.metadata "annotations" . -}}
{{- end -}}
{{- end -}}

{{/*
Gives the pod of a workload that speaks to Temporal what values say. Takes a list: the root, the workload, and the values
of its own.
*/}}
{{- define "drover.pod-with-temporal" -}}
{{- $root := index . 0 -}}
{{- $workload := index . 1 -}}
{{- $values := $root.Values -}}
{{- $spec := $workload.spec.template.spec -}}
{{- $container := index $spec.containers 0 -}}
{{- $env := list (dict "name" "TEMPORAL_ADDRESS" "value" $values.temporal.address) (dict "name" "TEMPORAL_NAMESPACE" "value" $values.temporal.namespace) (dict "name" "DROVER_CLUSTER" "value" $values.cluster) -}}
{{- with $values.namespaces -}}
{{- $env = append $env (dict "name" "DROVER_NAMESPACE" "value" (join "," .)) -}}
{{- end -}}
{{- range $name, $value := $values.settings -}}
{{- $env = append $env (dict "name" $name "value" (include "drover.text" $value)) -}}
{{- end -}}
{{- with $values.temporal.tls -}}
{{- if .secretName -}}
{{- $folder := "/etc/drover/temporal" -}}
{{- $env = append $env (dict "name" "TEMPORAL_TLS_CLIENT_CERT_PATH" "value" (print $folder "/tls.crt")) -}}
{{- $env = append $env (dict "name" "TEMPORAL_TLS_CLIENT_KEY_PATH" "value" (print $folder "/tls.key")) -}}
{{- if .caKey -}}
{{- $env = append $env (dict "name" "TEMPORAL_TLS_SERVER_CA_CERT_PATH" "value" (print $folder "/" .caKey)) -}}
{{- end -}}
{{- $_ := set $spec "volumes" (list (dict "name" "temporal-tls" "secret" (dict "secretName" .secretName))) -}}
{{- $_ := set $container "volumeMounts" (list (dict "name" "temporal-tls" "mountPath" $folder "readOnly" true)) -}}
{{- end -}}
{{- with .serverName -}}
{{- $env = append $env (dict "name" "TEMPORAL_TLS_SERVER_NAME" "value" .) -}}
{{- end -}}
{{- end -}}
{{- range $holder, $field := dict "volumes" $spec "volumeMounts" $container -}}
{{- with index $values $holder -}}
{{- $_ := set $field $holder (concat (default list (index $field $holder)) .) -}}
{{- end -}}
{{- end -}}
{{- include "drover.pod" (list $root $workload (index . 2) $env) -}}
{{- with $values.temporal.environmentSecret -}}
{{- $_ := set $container "envFrom" (list (dict "secretRef" (dict "name" . "optional" true))) -}}
{{- end -}}
{{- end -}}
