import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { KubeObject } from '../../../api/objects.ts';
import { Namespaces, ServiceAccounts } from '../../../api/resources.ts';
import { aFleet } from '../../integration/fleet.ts';
import { soakTest } from '../../soak.ts';
import { readManifests } from '../rights.ts';
import { CHART, hasKubectl, Helm, type Installation } from './helm.ts';
import { comparable } from './same.ts';

const fleet = aFleet({ simulator: false, workers: 0 });

let helm: Helm;
beforeAll(async () => {
  helm = await Helm.get();
  for (const name of ['drover', 'shop']) {
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    await fleet().kube.create(Namespaces, { metadata: { name, labels } });
  }
  await fleet().kube.create(ServiceAccounts, { metadata: { namespace: 'drover', name: 'default' } });
});
afterAll(() => helm?.remove());

const inShop = { namespaces: ['shop'] };
const behindProxy = { enabled: true, origins: ['https://drover.example.com'] };
const literals = (...of: string[]): object => ({
  configMapGenerator: [{ name: 'drover-settings', behavior: 'merge', literals: of }],
});

/** The same, asked of both. */
const SAME: Record<string, [Installation, { components?: string[]; [field: string]: unknown }]> = {
  'the defaults': [{}, {}],
  'settings, in another namespace': [
    { namespace: 'shop', values: { temporal: { address: 'temporal.example:7233' }, settings: { DROVER_BURST: 500 } } },
    { namespace: 'shop', ...literals('TEMPORAL_ADDRESS=temporal.example:7233', 'DROVER_BURST=500') },
  ],
  'all that is optional': [
    {
      values: {
        rbac: { references: true, checkJobs: true, takeover: true },
        flowControl: { enabled: true },
        monitoring: { scrape: 'PodMonitor', rules: true, dashboard: true },
      },
    },
    {
      namespace: 'drover',
      components: [
        'components/references',
        'components/check-jobs',
        'components/takeover',
        'components/flow-control',
        'monitoring',
      ],
    },
  ],
  'the dashboard behind a proxy': [
    {
      values: {
        dashboard: { ...behindProxy, settings: { DROVER_DASHBOARD_USER_HEADER: 'X-Remote-User' } },
      },
    },
    {
      namespace: 'drover',
      components: ['components/dashboard'],
      configMapGenerator: [
        {
          name: 'drover-dashboard-settings',
          literals: [
            'DROVER_DASHBOARD_ORIGINS=https://drover.example.com',
            'DROVER_CLUSTER=default',
            'DROVER_DASHBOARD_USER_HEADER=X-Remote-User',
          ],
        },
      ],
    },
  ],
  'one namespace': [
    { namespace: 'shop', values: inShop },
    { namespace: 'shop', components: ['components/namespaced'] },
  ],
};

test.skipIf(!hasKubectl).each(Object.entries(SAME))(
  'Helm installs what kustomize does: %s',
  async (_, [installation, kustomization]) => {
    const namespace = installation.namespace ?? 'drover';
    const [ours, theirs] = await Promise.all([helm.objects(installation), helm.kustomized(kustomization)]);
    expect(comparable(ours, namespace)).toEqual(comparable(theirs, namespace));
    expect(comparable(ours, namespace).size).toBeGreaterThanOrEqual(10);
  },
);

/** Values that change what is rendered, by what they are for. */
const VARIANTS: Record<string, Installation> = {
  ...Object.fromEntries(Object.entries(SAME).map(([name, [installation]]) => [name, installation])),
  'two namespaces, with all rights': {
    values: { ...inShop, namespaces: ['shop', 'drover'], rbac: { references: true, takeover: true } },
  },
  'a digest, pull secrets, scheduling': {
    values: {
      image: {
        repository: 'registry.example:5000/a/drover',
        digest: `sha256:${'0'.repeat(64)}`,
        pullPolicy: 'Always',
        pullSecrets: [{ name: 'registry' }],
      },
      workers: {
        replicas: 1,
        topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'rack', whenUnsatisfiable: 'DoNotSchedule' }],
      },
      pods: {
        labels: { team: 'vms' },
        annotations: { 'prometheus.io/scrape': 'true' },
        priorityClassName: 'system-cluster-critical',
        nodeSelector: { 'kubernetes.io/os': 'linux' },
        tolerations: [{ key: 'infra', operator: 'Exists' }],
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [{ matchExpressions: [{ key: 'infra', operator: 'Exists' }] }],
            },
          },
        },
      },
    },
  },
  'certificates, proxies, no hooks': {
    values: {
      temporal: { tls: { secretName: 'temporal-tls', serverName: 'temporal.example' }, environmentSecret: '' },
      environment: [{ name: 'HTTPS_PROXY', value: 'http://proxy:3128' }],
      setup: { enabled: false },
      networkPolicy: { from: [{ namespaceSelector: {}, podSelector: { matchLabels: { app: 'prometheus' } } }] },
    },
  },
  'all that may be said of the dashboard': {
    values: {
      dashboard: {
        ...behindProxy,
        proxy: { caSecretName: 'proxy', caKey: 'root.pem', names: ['front-proxy', 'spiffe://cluster/ns/a/sa/b'] },
        tls: { secretName: 'tls' },
        impersonate: { users: ['ada'], groups: ['ops'] },
        readOnly: true,
        settings: { DROVER_DASHBOARD_NAMESPACES: ['shop', 'bank'], DROVER_DASHBOARD_MOST_USERS: 20 },
        replicas: 2,
        topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'rack', whenUnsatisfiable: 'DoNotSchedule' }],
        networkPolicy: { from: [{ podSelector: { matchLabels: { app: 'nginx' } } }] },
      },
    },
  },
  'a codec, a private authority, a workload identity': {
    values: {
      temporal: { tls: { secretName: 'temporal-tls' } },
      settings: { DROVER_DATA_CONVERTER: '/etc/drover/codec/codec.js' },
      environment: [{ name: 'NODE_EXTRA_CA_CERTS', value: '/etc/drover/ca/ca.crt' }],
      volumes: [
        { name: 'codec', configMap: { name: 'codec' } },
        { name: 'ca', secret: { secretName: 'ca' } },
      ],
      volumeMounts: [
        { name: 'codec', mountPath: '/etc/drover/codec', readOnly: true },
        { name: 'ca', mountPath: '/etc/drover/ca', readOnly: true },
      ],
      serviceAccount: { annotations: { 'cloud.example/role': 'drover' } },
    },
  },
  'workers of two shards': {
    values: {
      settings: { DROVER_SHARDS: 2 },
      workers: {
        shards: [
          { takes: ['0', '1'], replicas: 3 },
          { takes: ['cluster'], resources: {} },
        ],
      },
    },
  },
  'as little as can be': {
    values: {
      podDisruptionBudget: { enabled: false },
      networkPolicy: { enabled: false },
      rbac: { userRoles: false },
      workers: { resources: null },
    },
  },
};

/** Kinds of the Prometheus Operator, which this cluster does not have. */
const isKnown = ({ apiVersion }: KubeObject): boolean => apiVersion !== 'monitoring.coreos.com/v1';

/** Has the API server check an object, and all of its fields, without storing it. */
function check({ apiVersion, kind, metadata, ...rest }: KubeObject): Promise<unknown> {
  const root = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
  const plural = `${kind!.toLowerCase().replace(/y$/, 'ie')}s`;
  const path = `${root}${metadata.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`}/${plural}`;
  const body = { apiVersion, kind, metadata, ...rest };
  return fleet().kube.request({ method: 'POST', path: `${path}?dryRun=All&fieldValidation=Strict`, body });
}

describe.each(Object.entries(VARIANTS))('with %s', (_, installation) => {
  test('the API server takes all objects, and the pods under the strictest standard', async () => {
    const objects = await helm.objects(installation);
    for (const object of objects.filter(isKnown)) {
      await expect(check(object)).resolves.toBeDefined();
      const template = (object['spec'] as { template?: { metadata: object; spec: object } } | undefined)?.template;
      if (template === undefined) continue;
      const metadata = { ...template.metadata, namespace: 'drover', name: 'pod' };
      // No account, priority class or pull secret is there yet.
      const { serviceAccountName: _, priorityClassName: __, ...spec } = template.spec as Record<string, unknown>;
      await expect(check({ apiVersion: 'v1', kind: 'Pod', metadata, spec })).resolves.toBeDefined();
    }
  });
});

interface Pod {
  volumes?: object[];
  containers: [{ image: string; env: { name: string; value: string }[]; volumeMounts?: object[] }];
}

const podOf = (objects: KubeObject[], kind: 'Deployment' | 'Job' = 'Deployment'): Pod =>
  (objects.find((object) => object.kind === kind)!['spec'] as { template: { spec: Pod } }).template.spec;

const rule = (resource: string, name: string) => ({
  apiGroups: [''],
  resources: [resource],
  verbs: ['impersonate'],
  resourceNames: [name],
});

const imageWith = async (image: object): Promise<string> =>
  podOf(await helm.objects({ values: { image } })).containers[0].image;

describe('values', () => {
  test('have certificates mounted where the variables name them, in the setup as well', async () => {
    const objects = await helm.objects({ values: { temporal: { tls: { secretName: 'mine', caKey: 'root.pem' } } } });
    for (const kind of ['Deployment', 'Job'] as const) {
      const {
        volumes,
        containers: [{ env, volumeMounts }],
      } = podOf(objects, kind);
      expect(volumes).toEqual([{ name: 'temporal-tls', secret: { secretName: 'mine' } }]);
      expect(volumeMounts).toEqual([{ name: 'temporal-tls', mountPath: '/etc/drover/temporal', readOnly: true }]);
      expect(env).toEqual(
        expect.arrayContaining([
          { name: 'TEMPORAL_TLS_CLIENT_CERT_PATH', value: '/etc/drover/temporal/tls.crt' },
          { name: 'TEMPORAL_TLS_CLIENT_KEY_PATH', value: '/etc/drover/temporal/tls.key' },
          { name: 'TEMPORAL_TLS_SERVER_CA_CERT_PATH', value: '/etc/drover/temporal/root.pem' },
        ]),
      );
    }
  });

  test('mount what users bring beside certificates, and annotate the accounts, in the setup as well', async () => {
    const objects = await helm.objects(VARIANTS['a codec, a private authority, a workload identity']);
    for (const kind of ['Deployment', 'Job'] as const) {
      const { volumes, containers } = podOf(objects, kind);
      const expected = ['temporal-tls', 'codec', 'ca'].map((name): unknown => expect.objectContaining({ name }));
      expect(volumes).toEqual(expected);
      expect(containers[0].volumeMounts).toEqual(expected);
    }
    const accounts = objects.filter(({ kind }) => kind === 'ServiceAccount');
    expect(accounts.map(({ metadata }) => metadata.name).toSorted()).toEqual(['drover-setup', 'drover-worker']);
    for (const { metadata } of accounts) expect(metadata.annotations).toMatchObject({ 'cloud.example/role': 'drover' });
    expect(accounts.find(({ metadata }) => metadata.name === 'drover-setup')!.metadata.annotations).toHaveProperty([
      'helm.sh/hook',
    ]);
  });

  test('name the image of the release, a tag, or a digest', async () => {
    const digest = `sha256:${'a'.repeat(64)}`;
    expect(await imageWith({ tag: 'next' })).toBe('drover:next');
    expect(await imageWith({ tag: 'next', digest })).toBe(`drover@${digest}`);
  });

  test('of large numbers are written out', async () => {
    const objects = await helm.objects({ values: { settings: { DROVER_WAIT_SLOTS: 100_000 } } });
    expect(podOf(objects).containers[0].env).toContainEqual({
      name: 'DROVER_WAIT_SLOTS',
      value: '100000',
    });
  });

  test('for namespaces alone leave nothing in the scope of the cluster, and each namespace has both roles', async () => {
    const values = {
      ...inShop,
      namespaces: ['shop', 'bank'],
      rbac: { references: true },
      flowControl: { enabled: true },
    };
    const objects = await helm.objects({ namespace: 'shop', values });
    expect(objects.filter(({ metadata }) => metadata.namespace === undefined)).toEqual([]);
    expect(comparable(objects, 'shop').size).toBe(objects.length);
    const roles = objects
      .filter(({ kind }) => kind === 'Role')
      .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
    expect(roles.toSorted()).toEqual(
      ['bank', 'shop'].flatMap((one) =>
        ['setup', 'worker', 'worker-references'].map((name) => `${one}/drover-${name}`),
      ),
    );
    for (const object of objects.filter(({ kind }) => kind === 'RoleBinding'))
      expect(object).toMatchObject({ roleRef: { kind: 'Role' }, subjects: [{ namespace: 'shop' }] });
    const {
      containers: [{ env }],
    } = podOf(objects);
    expect(env).toContainEqual({ name: 'DROVER_NAMESPACE', value: 'shop,bank' });
  });

  test('of the dashboard say whom it believes, for whom it asks, and what it may change', async () => {
    const objects = await helm.objects(VARIANTS['all that may be said of the dashboard']);
    const called = (kind: string) =>
      objects.find((one) => one.kind === kind && one.metadata.name === 'drover-dashboard')!;
    const { spec } = (called('Deployment')['spec'] as { template: { spec: Pod } }).template;
    const [{ env, args, envFrom }] = spec.containers as unknown as [
      { env: object[]; args: string[]; envFrom?: object },
    ];
    expect(args).toEqual(['dashboard', '--read-only']);
    // It has no Temporal, and so nothing of what is secret about it.
    expect(envFrom).toBeUndefined();
    expect(Object.fromEntries(env.map((one) => Object.values(one) as [string, string]))).toEqual({
      DROVER_DASHBOARD_PORT: '8443',
      DROVER_DASHBOARD_PROXY_CA: '/etc/drover/proxy/ca.crt',
      DROVER_DASHBOARD_TLS_CERT: '/etc/drover/tls/tls.crt',
      DROVER_DASHBOARD_TLS_KEY: '/etc/drover/tls/tls.key',
      DROVER_CLUSTER: 'default',
      DROVER_DASHBOARD_ORIGINS: 'https://drover.example.com',
      DROVER_DASHBOARD_PROXY_NAMES: 'front-proxy,spiffe://cluster/ns/a/sa/b',
      DROVER_DASHBOARD_NAMESPACES: 'shop,bank',
      DROVER_DASHBOARD_MOST_USERS: '20',
    });
    expect(spec.volumes).toEqual([
      { name: 'tls', secret: { secretName: 'tls' } },
      { name: 'proxy', secret: { secretName: 'proxy', items: [{ key: 'root.pem', path: 'ca.crt' }] } },
    ]);
    expect(called('ClusterRole')['rules']).toEqual([rule('users', 'ada'), rule('groups', 'ops')]);
    expect(called('NetworkPolicy')['spec']).toMatchObject({
      ingress: [{ from: [{ podSelector: { matchLabels: { app: 'nginx' } } }], ports: [{ port: 8443 }] }],
    });
  });

  test('without a header for groups take the right to ask in their name away', async () => {
    const settings = { DROVER_DASHBOARD_GROUPS_HEADER: 'none' };
    const objects = await helm.objects({ values: { dashboard: { ...behindProxy, settings } } });
    const role = objects.find(({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === 'drover-dashboard')!;
    expect(role['rules']).toEqual([{ apiGroups: [''], resources: ['users'], verbs: ['impersonate'] }]);
  });

  test('of the dashboard that make no sense are refused in words', async () => {
    await expect(helm.objects({ values: { dashboard: { enabled: true } } })).rejects.toThrow(
      'dashboard.origins must be given',
    );
    await expect(helm.objects({ values: { ...inShop, dashboard: behindProxy } })).rejects.toThrow(
      'is a right in the whole cluster',
    );
    expect((await helm.objects()).filter(({ metadata }) => metadata.name === 'drover-dashboard')).toEqual([]);
  });

  test('that are lists reach the worker as it reads them', async () => {
    const addresses = ['http://prometheus.monitoring:9090', 'https://prometheus.example/shop'];
    const objects = await helm.objects({ values: { settings: { DROVER_CHECK_ADDRESSES: addresses } } });
    expect(podOf(objects).containers[0].env).toContainEqual({
      name: 'DROVER_CHECK_ADDRESSES',
      value: addresses.join(','),
    });
  });

  test('that are wrong are refused in words', async () => {
    await expect(helm.objects({ values: { workers: { replicas: 'three' } } })).rejects.toThrow(
      /workers.*replicas.*integer/,
    );
    await expect(helm.objects({ values: { replicas: 3 } })).rejects.toThrow(/replicas/);
  });

  test('have a ServiceMonitor find the workers by a Service', async () => {
    const objects = await helm.objects({
      values: { monitoring: { scrape: 'ServiceMonitor', labels: { release: 'prometheus' } } },
    });
    const [service, monitor] = ['Service', 'ServiceMonitor'].map((kind) => objects.find((one) => one.kind === kind)!);
    const { selector, endpoints } = monitor!['spec'] as {
      selector: { matchLabels: object };
      endpoints: { port: string }[];
    };
    expect(service!.metadata.labels).toMatchObject(selector.matchLabels);
    expect(selector.matchLabels).toEqual((service!['spec'] as { selector: object }).selector);
    expect((service!['spec'] as { ports: { name: string }[] }).ports.map(({ name }) => name)).toEqual(
      endpoints.map(({ port }) => port),
    );
    expect(monitor!.metadata.labels).toMatchObject({ release: 'prometheus' });
  });
});

soakTest.each(Object.entries(VARIANTS))('Helm 3 makes the same of the chart: %s', async (_, installation) => {
  const helm3 = await Helm.get('helm3');
  onTestFinished(() => helm3.remove());
  expect(await helm3.objects(installation)).toEqual(await helm.objects(installation));
});

test('helm lint finds nothing wrong, and the definitions are not in the chart', async () => {
  expect(await helm.run('lint', '--strict', CHART)).toContain('0 chart(s) failed');
  expect(await helm.run('show', 'crds', CHART)).toBe('');
  expect((await helm.objects()).filter(({ kind }) => kind === 'CustomResourceDefinition')).toEqual([]);
});

test('the setup is a hook before all else, which goes when it has succeeded', async () => {
  const hooks = (await helm.objects()).filter(({ metadata }) => metadata.annotations?.['helm.sh/hook'] !== undefined);
  const of = [...readManifests('rbac/setup.yaml'), ...readManifests('setup.yaml')];
  expect(new Set(hooks.map(({ kind }) => kind))).toEqual(new Set(of.map(({ kind }) => kind)));
  expect(hooks).toHaveLength(of.length);
  for (const { kind, metadata } of hooks)
    expect(metadata.annotations).toMatchObject({
      'helm.sh/hook': 'pre-install,pre-upgrade',
      'helm.sh/hook-weight': kind === 'Job' ? '0' : '-1',
      'helm.sh/hook-delete-policy': 'before-hook-creation,hook-succeeded',
    });
});

test('workers of shards have a Deployment each, which selects its own pods', async () => {
  const deployments = (await helm.objects(VARIANTS['workers of two shards'])).filter(
    ({ kind }) => kind === 'Deployment',
  );
  expect(deployments.map(({ metadata }) => metadata.name)).toEqual(['drover-worker-0-1', 'drover-worker-cluster']);
  for (const { spec } of deployments as unknown as { spec: { selector: { matchLabels: object }; template: object } }[])
    expect(spec.template).toMatchObject({ metadata: { labels: spec.selector.matchLabels } });
});
