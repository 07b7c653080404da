import * as z from 'zod';
import { schemaOf } from '../../workers/settings/schema.ts';
import { eachSetting, isOfWorker, SETTINGS } from '../../workers/settings/settings.ts';
import { DashboardValues } from './dashboard-values.ts';
import { firstIn, flag, kubernetes, kubernetesList, resources, text } from './kubernetes-parts.ts';

const workers = firstIn('worker.yaml').spec;
const setup = firstIn('setup.yaml').spec;

const labels = (what: string) => z.record(z.string(), z.string()).default({}).describe(what);
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

const { isList: _, ...oneTaken } = SETTINGS['worker.takes'];

/** Variables that the image or other values set. */
const SET_OTHERWISE = /^DROVER_(NAMESPACE|HEALTH_PORT|HEALTH_ADDRESS|TEMPORAL_METRICS_PORT|WORKFLOW_BUNDLE)$/;

const settings = Object.fromEntries(
  eachSetting()
    .filter(([name, { variable }]) => (isOfWorker(name) || name === 'dataConverter') && !SET_OTHERWISE.test(variable))
    .map(([, setting]) => [
      setting.variable,
      schemaOf(setting)
        .optional()
        .describe(`${setting.what}; default: ${setting.value ?? setting.without}`),
    ]),
);

/** The values of the Helm chart: what they mean, what they may be, and their defaults. */
export const Values = z.strictObject({
  image: z
    .strictObject({
      repository: z.string().min(1).default('drover').describe("drover's image, without a tag"),
      tag: text('', "its tag; the release of the chart if it is ''"),
      digest: z
        .string()
        .regex(/^(sha256:[0-9a-f]{64})?$/)
        .default('')
        .describe('its digest (`sha256:…`), in place of a tag'),
      pullPolicy: z.enum(['IfNotPresent', 'Always', 'Never']).default('IfNotPresent').describe('when it is pulled'),
      pullSecrets: kubernetesList('Secrets to pull it with, such as `[{name: registry}]`'),
    })
    .prefault({}),
  cluster: z
    .string()
    .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/)
    .default('default')
    .describe("drover's name for the cluster: unique in each Temporal"),
  namespaces: z
    .array(z.string().regex(NAMESPACE))
    .default([])
    .describe('the only namespaces that it serves, with Roles in them and no ClusterRole; all if there are none'),
  temporal: z
    .strictObject({
      address: z
        .string()
        .regex(/^[^:/]+:\d+$/)
        .default('temporal-frontend.temporal:7233')
        .describe("Temporal's frontend, as `host:port`"),
      namespace: z.string().min(1).default('default').describe('the namespace in Temporal, which must exist'),
      environmentSecret: text(
        'drover-temporal',
        'a Secret with variables that are secret, such as `TEMPORAL_API_KEY`; it need not exist',
      ),
      tls: z
        .strictObject({
          secretName: text(
            '',
            'a Secret with `tls.crt` and `tls.key`, for mutual TLS. A worker follows its renewals without a restart',
          ),
          caKey: text('ca.crt', "the key in it of the authority of Temporal's certificate; '' for those of the system"),
          serverName: text('', "the name in Temporal's certificate, if it differs from that of the address"),
        })
        .prefault({}),
    })
    .prefault({}),
  settings: z.strictObject(settings).prefault({}).describe('[variables](../docs/settings.md) of the worker'),
  environment: kubernetesList('further environment variables of the pods, as `[{name: HTTPS_PROXY, value: …}]`'),
  volumes: kubernetesList(
    'further volumes of workers and of the setup, such as a codec, keys that are renewed, or a private authority',
  ),
  volumeMounts: kubernetesList('where these are mounted, as `[{name: codec, mountPath: /etc/drover/codec}]`'),
  serviceAccount: z
    .strictObject({ annotations: labels("annotations of the accounts, such as those of a cloud's workload identity") })
    .prefault({}),
  workers: z
    .strictObject({
      replicas: z.int().min(0).default(workers.replicas).describe('how many workers there are'),
      resources: resources(
        workers.template.spec.containers[0],
        'requests and limits; enough for [10,000 running VMs](../docs/deploy.md#memory)',
      ),
      shards: z
        .array(
          z.strictObject({
            takes: z.array(schemaOf(oneTaken)).min(1),
            replicas: z.int().min(1).optional(),
            resources: kubernetes('').optional(),
          }),
        )
        .default([])
        .describe(
          'a Deployment for each of these in place of one that takes everything, with `settings.DROVER_SHARDS`: what it `takes`, as `DROVER_TAKES` has it, and its own `replicas` and `resources` if they differ; [shards](../docs/deploy.md#shards-of-a-large-cluster)',
        ),
      terminationGracePeriodSeconds: z
        .int()
        .min(workers.template.spec.terminationGracePeriodSeconds)
        .default(workers.template.spec.terminationGracePeriodSeconds)
        .describe('the time to end what it has begun, which takes up to 35 s'),
      topologySpreadConstraints: kubernetesList(
        'in place of the default, which spreads workers over zones and nodes as far as possible',
      ),
    })
    .prefault({}),
  podDisruptionBudget: z
    .strictObject({ enabled: flag(true, 'evictions take one worker, and one dashboard, at a time') })
    .prefault({}),
  setup: z
    .strictObject({
      enabled: flag(
        true,
        'run `drover setup` before each install and upgrade; if not, run it yourself, with each release',
      ),
      resources: resources(setup.template.spec.containers[0], 'requests and limits of its pod'),
    })
    .prefault({}),
  pods: z
    .strictObject({
      labels: labels('further labels'),
      annotations: labels('annotations'),
      priorityClassName: text('', 'a PriorityClass that must exist'),
      nodeSelector: labels('labels of the nodes'),
      tolerations: kubernetesList('tolerations'),
      affinity: kubernetes('affinity'),
    })
    .prefault({})
    .describe('of workers, of the setup and of the dashboard'),
  rbac: z
    .strictObject({
      userRoles: flag(
        true,
        'the roles `drover-view` and `drover-edit`, which Kubernetes adds to its own, `drover-operator` and `drover-takeover`; only without `namespaces`',
      ),
      references: flag(
        false,
        'workers may read Secrets and ConfigMaps, for [VMs that have their own](../docs/pools.md#names)',
      ),
      checkJobs: flag(
        false,
        'workers may create, get and delete Jobs, for [checks of rollouts](../docs/updates.md#a-check-instead-of-an-approval)',
      ),
      takeover: flag(
        false,
        "workers may change KubeVirt's own pools, for [`drover takeover` and `release`](../docs/membership.md#take-over-a-kubevirt-pool)",
      ),
    })
    .prefault({}),
  networkPolicy: z
    .strictObject({
      enabled: flag(true, 'only scrapers of metrics, and the proxy of the dashboard, reach the pods'),
      from: kubernetesList(
        'who scrapes metrics, in place of namespaces with the label `drover.dev/may-scrape: "true"`',
      ),
    })
    .prefault({}),
  dashboard: DashboardValues,
  flowControl: z
    .strictObject({
      enabled: flag(
        false,
        'requests of workers have their own place in the API server (FlowSchema, PriorityLevelConfiguration); only without `namespaces`',
      ),
      nominalConcurrencyShares: z.int().min(0).default(20).describe('how large it is, relative to those of others'),
    })
    .prefault({}),
  monitoring: z
    .strictObject({
      scrape: z
        .enum(['none', 'PodMonitor', 'ServiceMonitor'])
        .default('none')
        .describe('the object by which the Prometheus Operator finds the workers; its CRDs must exist'),
      interval: text('', "how often, such as `30s`; Prometheus' own default if it is ''"),
      rules: flag(false, 'the alerts, as a PrometheusRule; its CRD must exist'),
      dashboard: flag(false, "Grafana's dashboard, as a ConfigMap"),
      labels: labels('labels by which Prometheus selects these objects'),
      dashboardLabels: labels("labels by which Grafana's sidecar selects the dashboard").default({
        grafana_dashboard: '1',
      }),
    })
    .prefault({}),
  enabled: z
    .boolean()
    .optional()
    .describe('whether a chart that this one is a part of takes it; drover reads nothing of it'),
  global: kubernetes('what a chart that this one is a part of says to all of its parts; drover reads nothing of it'),
});
