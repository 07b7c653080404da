import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest';
import { CONFIRM_DELETION_ANNOTATION, RELEASE_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import type { KubeObject } from '../../../api/objects.ts';
import { CustomResourceDefinitions, Namespaces, ServiceAccounts } from '../../../api/resources.ts';
import { ignoreNotFound } from '../../../kubernetes/errors.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { aFleet, until, type TestWorker } from '../../integration/fleet.ts';
import { namespacesOfShards } from '../../integration/namespaces-of-shards.ts';
import { isSoak } from '../../soak.ts';
import { Installed } from '../package/installed.ts';
import { readManifests } from '../rights.ts';
import { ClusterRoles, kubeconfigOf, NAMESPACE } from '../service-accounts.ts';
import { Helm } from './helm.ts';
import { Deployments, environmentOf, Jobs, Kubelet, SETUP, type Workload } from './kubelet.ts';

const run = promisify(execFile);
const fleet = aFleet({ workers: 0 });

const NEW = 'virtualmachineoperationschedules.drover.dev';
const OLD = 'virtualmachinepools.drover.dev';
let helm: Helm;
let installed: Installed;
beforeAll(async () => {
  installed = new Installed(fleet);
  await installed.install();
  await fleet().kube.create(Namespaces, readManifests('namespace.yaml')[0]!);
});
afterEach(() => helm?.remove());
afterAll(() => installed?.remove());

const deployment = (): Promise<Workload> =>
  fleet().kube.get<Workload>(Deployments, { namespace: NAMESPACE, name: 'drover-worker' });
const definition = (name: string): Promise<KubeObject | undefined> =>
  ignoreNotFound(fleet().kube.get<KubeObject>(CustomResourceDefinitions, { name }));
const releaseOf = async (name: string): Promise<string | undefined> =>
  (await definition(name))?.metadata.annotations?.[RELEASE_ANNOTATION];
const annotate = (name: string, annotations: Record<string, string | null>): Promise<unknown> =>
  fleet().kube.patch(CustomResourceDefinitions, { name }, 'merge', { metadata: { annotations } });

const kubelet = new Kubelet(fleet, (args, env) =>
  run(process.execPath, [inject('programs')!.command, ...args], {
    env: { ...process.env, ...inject('programs')!.env, ...env },
  }).then(
    ({ stdout }) => ({ isDone: true, said: stdout }),
    ({ stderr }: { stderr: string }) => ({ isDone: false, said: stderr }),
  ),
);

/** Runs Helm, and the setup meanwhile. */
async function release(
  verb: 'install' | 'upgrade',
  chart: string,
  values: object = {},
): Promise<{ helm: string; setup: string }> {
  const address = fleet().stack.env['TEMPORAL_ADDRESS']!;
  const file = helm.valuesFile({ temporal: { address }, ...values });
  const ends = helm.run(
    verb,
    'drover',
    chart,
    '--namespace',
    NAMESPACE,
    '--kubeconfig',
    fleet().stack.kubeconfig,
    '--values',
    file,
    '--timeout',
    '2m',
  );
  const [said, setup] = await Promise.allSettled([ends, kubelet.playSetup()]);
  if (said.status === 'rejected') throw said.reason;
  if (setup.status === 'rejected') throw setup.reason;
  return { helm: said.value, setup: setup.value };
}

const POOL = `apiVersion: drover.dev/v1alpha1
kind: VirtualMachinePool
metadata: { name: web }
spec:
  replicas: 2
  template:
    spec:
      runStrategy: Always
      template: { spec: { domain: { cpu: { cores: 1 }, memory: { guest: 64Mi }, devices: {} } } }
`;

/** Makes a pool with the command that npm has installed, and rolls a change through it. */
async function makeAndRoll(namespace: string): Promise<void> {
  const file = join(installed.folder, `${namespace}.yaml`);
  const drover = async (...args: string[]): Promise<string> => {
    const { code, output } = await installed.run('drover', [...args, '--namespace', namespace]);
    expect({ args, code, output }).toMatchObject({ code: 0 });
    return output;
  };
  writeFileSync(file, POOL);
  expect(await drover('apply', '-f', file, '--wait')).toContain('pool web matches its spec');
  writeFileSync(file, POOL.replace('cores: 1', 'cores: 2'));
  expect(await drover('apply', '-f', file, '--wait')).toContain('pool web matches its spec');
  expect(await drover('rollout', 'status', 'pool', 'web')).toMatch(/ 2\/2 updated, 2 ready: Complete/);
  expect(await drover('history', 'pool', 'web')).toMatch(/restart +web-.* Updated/);
}

/** Starts a worker as a Deployment has it run, with the rights of its account. */
async function startWorkerOf(workload: Workload): Promise<TestWorker> {
  const account = await kubeconfigOf(fleet(), workload.spec.template.spec.serviceAccountName);
  return fleet().startWorker({ ...environmentOf(workload), KUBECONFIG: account });
}

const uninstall = (): Promise<string> =>
  helm.run('uninstall', 'drover', '--namespace', NAMESPACE, '--kubeconfig', fleet().stack.kubeconfig);

/** Kinds of what the setup leaves in the cluster. */
async function leftOfSetup(): Promise<string[]> {
  const { kube } = fleet();
  const [jobs, accounts, roles] = await Promise.all([
    kube.list(Jobs, { namespace: NAMESPACE }),
    kube.list(ServiceAccounts, { namespace: NAMESPACE }),
    kube.list(ClusterRoles),
  ]);
  const of = { Job: jobs, ServiceAccount: accounts, ClusterRole: roles };
  return Object.entries(of).flatMap(([kind, { items }]) =>
    items.some(({ metadata }) => metadata.name === SETUP.name) ? [kind] : [],
  );
}

test.each<'helm' | 'helm3'>(isSoak ? ['helm', 'helm3'] : ['helm'])(
  '%s installs, upgrades, refuses to go back, rolls back and uninstalls, and pools and definitions stay',
  async (of) => {
    helm = await Helm.get(of);
    const { kube } = fleet();
    // One definition is missing, and another is that of an older release.
    await annotate(NEW, { [CONFIRM_DELETION_ANNOTATION]: 'true' });
    await kube.delete(CustomResourceDefinitions, { name: NEW });
    await until(async () => expect(await definition(NEW)).toBeUndefined());
    await annotate(OLD, { [RELEASE_ANNOTATION]: null });
    await annotate(OLD, { [RELEASE_ANNOTATION]: '0.0.1' });

    const first = await release('install', await helm.packed('0.0.9'));
    expect(first.setup).toContain(`${NEW} created`);
    expect(first.setup).toContain(`${OLD} configured`);
    expect(first.helm).toContain('kubectl -n drover rollout status deployment/drover-worker');
    expect(await releaseOf(OLD)).toBe(packageJson.version);
    // The setup, its account and rights are gone, and no release of Helm owns a definition.
    expect(await leftOfSetup()).toEqual([]);
    expect((await definition(NEW))!.metadata.annotations).not.toHaveProperty('meta.helm.sh/release-name');

    // The worker, as the release has it run.
    const before = await deployment();
    expect(before.spec.template.spec.containers[0]).toMatchObject({ image: 'drover:0.0.9', args: ['worker'] });
    const worker = await startWorkerOf(before);
    const namespace = await fleet().namespace();
    await makeAndRoll(namespace);
    const uids = async (): Promise<string[]> =>
      (await fleet().vms(namespace)).map(({ metadata }) => metadata.uid).sort();
    const made = await uids();

    await annotate(OLD, { [RELEASE_ANNOTATION]: null });
    await annotate(OLD, { [RELEASE_ANNOTATION]: '0.0.9' });
    const chart = await helm.packed(packageJson.version);
    const upgraded = await release('upgrade', chart, { workers: { replicas: 3 } });
    expect(upgraded.setup).toContain(`${OLD} configured`);
    expect((await deployment()).spec).toMatchObject({
      replicas: 3,
      template: { spec: { containers: [{ image: `drover:${packageJson.version}` }] } },
    });

    // A chart that is older than the definitions changes nothing.
    await annotate(OLD, { [RELEASE_ANNOTATION]: '99.0.0' });
    await expect(release('upgrade', chart, { workers: { replicas: 1 } })).rejects.toThrow(/pre-upgrade hooks failed/);
    expect((await deployment()).spec.replicas).toBe(3);
    // It has no rights any more. What it said stays for a day.
    expect(await leftOfSetup()).toEqual(['Job']);
    expect((await kube.get<KubeObject>(Jobs, SETUP))['spec']).toMatchObject({ ttlSecondsAfterFinished: 86_400 });
    // To go back to what was installed before takes no setup.
    await helm.run('rollback', 'drover', '1', '--namespace', NAMESPACE, '--kubeconfig', fleet().stack.kubeconfig);
    expect((await deployment()).spec.replicas).toBe(2);
    expect(await releaseOf(OLD)).toBe('99.0.0');

    await uninstall();
    await expect(deployment()).rejects.toMatchObject({ status: 404 });
    expect(await definition(NEW)).toBeDefined();
    expect(await definition(OLD)).toBeDefined();
    expect(await uids()).toEqual(made);
    expect((await fleet().pool(namespace, 'web'))?.metadata).not.toHaveProperty('deletionTimestamp');
    await worker.kill();
  },
);

test('an upgrade divides the cluster into shards, and their workers continue what the worker before them has begun', async () => {
  helm = await Helm.get('helm');
  const { kube } = fleet();
  await annotate(OLD, { [RELEASE_ANNOTATION]: null });
  const chart = await helm.packed(packageJson.version);
  await release('install', chart);
  const former = await startWorkerOf(await deployment());
  const namespaces = await namespacesOfShards(fleet());
  await Promise.all(namespaces.map(makeAndRoll));

  const shards = [{ takes: ['0'] }, { takes: ['1', 'cluster'] }];
  await release('upgrade', chart, { settings: { DROVER_SHARDS: 2 }, workers: { shards } });
  const { items } = await kube.list<Workload>(Deployments, { namespace: NAMESPACE });
  expect(items.map(({ metadata }) => metadata.name)).toEqual(['drover-worker-0', 'drover-worker-1-cluster']);
  const workers = await Promise.all(items.map(startWorkerOf));
  await former.kill();
  await Promise.all(namespaces.map(makeAndRoll));
  await uninstall();
  for (const worker of workers) await worker.kill();
});
