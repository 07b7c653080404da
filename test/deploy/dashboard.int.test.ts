import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { KubeObject } from '../../api/objects.ts';
import { Namespaces } from '../../api/resources.ts';
import { Followed } from '../clients/dashboard/opened.ts';
import { of, ORIGIN, Peer } from '../clients/dashboard/proxied/peer.ts';
import { certified } from '../clients/dashboard/proxied/proxied.ts';
import { grant, STEER } from '../clients/dashboard/proxied/users.ts';
import { nowhere, start } from '../clients/drover.ts';
import { aFleet, runningTemplate, until } from '../integration/fleet.ts';
import { hasKubectl, Helm } from './chart/helm.ts';
import { imageEnvironment } from './dockerfile.ts';
import { kubeconfigOf, NAMESPACE } from './service-accounts.ts';

const fleet = aFleet();
let helm: Helm;
beforeAll(async () => {
  helm = await Helm.get();
  await fleet().kube.create(Namespaces, { metadata: { name: NAMESPACE } });
});
afterAll(() => helm?.remove());

const isOfDashboard = ({ kind, metadata }: KubeObject): boolean =>
  metadata.name.startsWith('drover-dashboard') && kind !== 'ConfigMap';

const withHelm = async (): Promise<KubeObject[]> =>
  helm.objects({ values: { dashboard: { enabled: true, origins: [ORIGIN], proxy: { names: ['front-proxy'] } } } });
const withKustomize = async (): Promise<KubeObject[]> =>
  helm.kustomized({
    namespace: NAMESPACE,
    components: ['components/dashboard'],
    configMapGenerator: [
      {
        name: 'drover-dashboard-settings',
        literals: [`DROVER_DASHBOARD_ORIGINS=${ORIGIN}`, 'DROVER_DASHBOARD_PROXY_NAMES=front-proxy'],
      },
    ],
  });

interface Workload {
  spec: {
    template: {
      spec: {
        serviceAccountName: string;
        volumes: { name: string; secret: { secretName: string; items?: { key: string; path: string }[] } }[];
        containers: [
          {
            args: string[];
            env: { name: string; value: string }[];
            envFrom?: { configMapRef?: { name: string } }[];
            volumeMounts: { name: string; mountPath: string }[];
          },
        ];
      };
    };
  };
}

/** Makes these objects in the cluster, until the end of the test. */
async function apply(objects: KubeObject[]): Promise<void> {
  const { kube } = fleet();
  for (const { apiVersion, kind, metadata, ...rest } of objects) {
    const root = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
    const plural = `${kind!.toLowerCase().replace(/y$/, 'ie')}s`;
    const path = `${root}${metadata.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`}/${plural}`;
    await kube.request({ method: 'POST', path, body: { apiVersion, kind, metadata, ...rest } });
    onTestFinished(async () => void (await kube.request({ method: 'DELETE', path: `${path}/${metadata.name}` })));
  }
}

/** What a pod of these objects has in its environment, with the files of its Secrets where they are here. */
function environmentOf(objects: KubeObject[], files: Record<string, string>): Record<string, string> {
  const { spec } = (objects.find(({ kind }) => kind === 'Deployment') as unknown as Workload).spec.template;
  const [{ env, envFrom = [], volumeMounts }] = spec.containers;
  const given = envFrom.flatMap(({ configMapRef }) => {
    const map = objects.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === configMapRef?.name);
    return Object.entries((map?.['data'] ?? {}) as Record<string, string>);
  });
  const here = (value: string): string => {
    const mount = volumeMounts.find(({ mountPath }) => value.startsWith(`${mountPath}/`));
    if (mount === undefined) return value;
    const { secret } = spec.volumes.find(({ name }) => name === mount.name)!;
    const name = value.slice(mount.mountPath.length + 1);
    const key = secret.items === undefined ? name : secret.items.find(({ path }) => path === name)!.key;
    return files[`${secret.secretName}/${key}`]!;
  };
  return { ...Object.fromEntries(given), ...Object.fromEntries(env.map(({ name, value }) => [name, here(value)])) };
}

/** Starts what the pod runs, and resolves with its port when it serves. */
async function run(env: NodeJS.ProcessEnv): Promise<{ child: ChildProcess; port: number; log: string[] }> {
  const child = start(['dashboard'], { ...nowhere, ...env });
  onTestFinished(() => void child.kill('SIGKILL'));
  const log: string[] = [];
  const ready = Promise.withResolvers<number>();
  createInterface({ input: child.stderr! }).on('line', (line) => {
    log.push(line);
    if (line.includes('"dashboard ready"')) ready.resolve((JSON.parse(line) as { port: number }).port);
  });
  child.on('close', () => ready.reject(new Error(log.join('\n'))));
  return { child, port: await ready.promise, log };
}

test.each([
  ['Helm', withHelm],
  ['kustomize', withKustomize],
] as const)('what %s installs serves each user with the rights of its own account', async (tool, objectsWith) => {
  if (tool === 'kustomize' && !hasKubectl) return;
  const objects = await objectsWith();
  const own = objects.filter(isOfDashboard);
  expect(own.map(({ kind }) => kind!).toSorted((a, b) => a.localeCompare(b))).toEqual([
    'ClusterRole',
    'ClusterRoleBinding',
    'Deployment',
    'NetworkPolicy',
    'PodDisruptionBudget',
    'Service',
    'ServiceAccount',
  ]);
  await apply(own);
  const namespace = await fleet().namespace();
  const user = `ada-${namespace}`;
  await fleet().createPool(namespace, 'web', { replicas: 1, template: runningTemplate });
  await grant(fleet().kube, namespace, { kind: 'User', name: user }, STEER);
  const { files, proxy } = await certified();
  const env = {
    ...imageEnvironment(),
    ...environmentOf(objects, {
      'drover-dashboard-tls/tls.crt': files.paths.cert,
      'drover-dashboard-tls/tls.key': files.paths.key,
      'drover-dashboard-proxy-ca/ca.crt': files.paths.ca,
    }),
    KUBECONFIG: await kubeconfigOf(fleet(), 'drover-dashboard'),
    DROVER_DASHBOARD_NAMESPACES: namespace,
    DROVER_DASHBOARD_PORT: '0',
    DROVER_HEALTH_PORT: '0',
  };
  expect(env).toMatchObject({ DROVER_DASHBOARD_ORIGINS: ORIGIN, DROVER_DASHBOARD_PROXY_NAMES: 'front-proxy' });
  const first = await run(env);
  const asks = (as: typeof proxy | undefined, port: number): Peer => {
    const peer = new Peer(port, files.servers.pem, as);
    onTestFinished(() => peer.close());
    return peer;
  };
  const pause = (action: string) => ({
    method: 'POST',
    headers: of(user),
    body: { action, about: { kind: 'VirtualMachinePool', namespace, name: 'web' }, reason: 'asked for by a test' },
  });
  const shown = async (port: number): Promise<string[]> => {
    const followed = new Followed().listen(await asks(proxy, port).open('/api/stream', { headers: of(user) }));
    await until(async () => expect(followed.isSynced).toBe(true));
    return followed.viewer.shown;
  };
  expect(await shown(first.port)).toEqual([`pool/${namespace}/web`]);
  expect(await asks(undefined, first.port).ask('/api/session', { headers: of(user) })).toMatchObject({ status: 401 });
  const other = await files.proxies.issue('another');
  expect(await asks(other, first.port).ask('/api/session', { headers: of(user) })).toMatchObject({ status: 401 });
  expect(await asks(proxy, first.port).ask('/api/actions', pause('rollout.pause'))).toMatchObject({ status: 200 });
  const asked = first.log.map((line) => JSON.parse(line) as object).find((line) => 'action' in line);
  expect(asked).toMatchObject({ user, action: 'rollout.pause', namespace, name: 'web', outcome: 'done' });

  // A dashboard that is killed is started again by Kubernetes, and knows all that there is to know.
  first.child.kill('SIGKILL');
  await once(first.child, 'close');
  const second = await run({ ...env, DROVER_DASHBOARD_PORT: String(first.port) });
  expect(second.port).toBe(first.port);
  expect(await shown(second.port)).toEqual([`pool/${namespace}/web`]);
  expect((await fleet().pool(namespace, 'web'))!.status!.rollout!.paused).toMatchObject({ by: user });
  const stream = await asks(proxy, second.port).open('/api/stream', { headers: of(user) });
  const ended = once(stream.resume(), 'end');
  second.child.kill('SIGTERM');
  await ended;
  expect(await once(second.child, 'close')).toEqual([0, null]);
});
