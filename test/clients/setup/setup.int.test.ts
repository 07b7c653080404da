import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { droverCrds } from '../../../api/crd/crds.ts';
import { CONFIRM_DELETION_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import type { KubeObject } from '../../../api/objects.ts';
import {
  CustomResourceDefinitions,
  ValidatingAdmissionPolicyBindings,
  VirtualMachinePools,
} from '../../../api/resources.ts';
import type { Finding } from '../../../clients/doctor/finding.ts';
import { connectTemporal } from '../../../clients/session/temporal.ts';
import { installCrds } from '../../../dev/crds/crds.ts';
import { KubeClient } from '../../../kubernetes/client.ts';
import { loadKubeConfig } from '../../../kubernetes/config.ts';
import { spawnReaped } from '../../reaped.ts';
import { LeasedStack } from '../../stacks/leased-stack.ts';
import { waitFor } from '../../wait-for.ts';
import { PATIENCE_MS } from '../../wait-for.ts';
import { BIN, nowhere, type Outcome } from '../drover.ts';
import { droverHere as run } from '../in-process.ts';

/** Servers without a setup of drover. The tests build on each other. */
let stack: LeasedStack;
let kube: KubeClient;

beforeAll(async () => {
  stack = await LeasedStack.lease({ simulator: false });
  kube = new KubeClient(loadKubeConfig({ kubeconfig: stack.kubeconfig }));
  for (const name of await crds()) await remove(name);
  await waitFor(async () => expect(await crds()).toEqual([]), 30_000);
});

afterAll(async () => {
  await kube.close();
  await stack.stop();
});

const env = (): NodeJS.ProcessEnv => ({ ...nowhere, ...stack.env });
const drover = (...args: string[]): Promise<Outcome> => run(args, env());
/** Deletes a definition as docs/outages.md says. */
async function remove(name: string): Promise<void> {
  const annotations = { [CONFIRM_DELETION_ANNOTATION]: 'true' };
  await kube.patch(CustomResourceDefinitions, { name }, 'merge', { metadata: { annotations } });
  await kube.delete(CustomResourceDefinitions, { name });
}
const crds = async (): Promise<string[]> =>
  (await kube.list(CustomResourceDefinitions)).items
    .map(({ metadata }) => metadata.name)
    .filter((name) => name.endsWith('drover.dev'));

test('every command says that the setup is missing before it was run', async () => {
  const missing = /^error: .*drover is not installed in it; run `drover setup` first\n$/;
  const commands = [
    ['status'],
    ['scale', 'pool', 'web', '--remove', 'web-1'],
    ['apply', '-f', join(import.meta.dirname, '../../../examples/pool.yaml')],
  ];
  const outcomes = await Promise.all(commands.map((args) => drover(...args)));
  for (const outcome of outcomes)
    expect(outcome).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(missing) as string });
});

/** The outcomes of `drover doctor`, by check. */
async function examined(environment = env()): Promise<{ code: number | null; found: Record<string, string[]> }> {
  const { code, stdout } = await run(['doctor', '-o', 'json'], environment);
  const { items } = JSON.parse(stdout) as { items: Finding[] };
  const found: Record<string, string[]> = {};
  for (const { check, outcome } of items) (found[check] ??= []).push(outcome);
  return { code, found };
}

test('before the setup, `drover doctor` says what is missing, and that `drover setup` brings it', async () => {
  const { code, found } = await examined();
  expect(code).toBe(1);
  expect(found).toMatchObject({
    'API server': ['OK'],
    'Your rights': ['OK'],
    Definitions: droverCrds().map(() => 'Failed'),
    Clock: ['OK'],
    Temporal: ['OK'],
    // The Temporal of tests asks nobody who they are.
    'Access to Temporal': ['Warning'],
    Watch: ['Failed'],
    Workers: ['Failed'],
  });
  const { stdout, stderr } = await drover('doctor');
  expect(stdout).toMatch(/has namespace \S+, which keeps ended workflows for [1-9]\d* days?\n/);
  expect(stdout).toMatch(/virtualmachinepools\.drover\.dev is not installed\n +fix: run `drover setup`/);
  expect(stderr).toMatch(/^error: \d+ checks: \d+ failed, .*\n$/);
});

test('a user who may not install custom resources is told so, and nothing is done', async () => {
  const { code, stdout, stderr } = await run(['setup'], { ...env(), KUBECONFIG: await ofServiceAccount('nobody') });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(
    /^error: not allowed to install drover's custom resources \(.*"system:serviceaccount:default:nobody".*\): .*\n$/,
  );
  expect(await drover('setup', '--dry-run')).toMatchObject({
    stdout: expect.stringContaining('DroverPool registered (server dry run)') as string,
  });
});

test('a missing namespace of Temporal is reported, with the way to make it', async () => {
  const { code, stdout, stderr } = await drover('setup', '--temporal-namespace', 'nope');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(
    /^error: Temporal at .* has no namespace nope: create it with `temporal operator namespace create --namespace nope`, or .*\n$/,
  );
});

test('a dry run says what it would do, and does nothing', async () => {
  const { code, stdout } = await drover('setup', '--dry-run');
  expect(code).toBe(0);
  expect(stdout).toContain(
    'customresourcedefinition.apiextensions.k8s.io/virtualmachinepools.drover.dev created (server dry run)\n',
  );
  expect(stdout).toContain('workflow watch/default started (server dry run)\n');
  expect(await crds()).toEqual([]);
});

test('two setups at once both succeed, a third finds all of it, and one watch runs', async () => {
  const both = await Promise.all([drover('setup'), drover('setup')]);
  for (const outcome of both) expect(outcome).toMatchObject({ code: 0, stderr: '' });
  const third = await drover('setup');
  expect(third).toMatchObject({ code: 0, stderr: '' });
  expect(
    third.stdout
      .trim()
      .split('\n')
      .map((line) => line.split(' ').slice(-2).join(' ')),
  ).toEqual([
    ...droverCrds().map(({ metadata: { name } }) => `customresourcedefinition.apiextensions.k8s.io/${name} unchanged`),
    'validatingadmissionpolicy.admissionregistration.k8s.io/keep-definitions.drover.dev unchanged',
    'validatingadmissionpolicybinding.admissionregistration.k8s.io/keep-definitions.drover.dev unchanged',
    'validatingadmissionpolicy.admissionregistration.k8s.io/operations.drover.dev unchanged',
    'validatingadmissionpolicybinding.admissionregistration.k8s.io/operations.drover.dev unchanged',
    'validatingadmissionpolicy.admissionregistration.k8s.io/requested-by.drover.dev unchanged',
    'validatingadmissionpolicybinding.admissionregistration.k8s.io/requested-by.drover.dev unchanged',
    'validatingadmissionpolicy.admissionregistration.k8s.io/check-jobs.drover.dev unchanged',
    'validatingadmissionpolicybinding.admissionregistration.k8s.io/check-jobs.drover.dev unchanged',
    'validatingadmissionpolicy.admissionregistration.k8s.io/claims.drover.dev unchanged',
    'validatingadmissionpolicybinding.admissionregistration.k8s.io/claims.drover.dev unchanged',
    'validatingadmissionpolicy.admissionregistration.k8s.io/worker.drover.dev unchanged',
    'validatingadmissionpolicybinding.admissionregistration.k8s.io/worker.drover.dev unchanged',
    'DroverCluster unchanged',
    'DroverNamespace unchanged',
    'DroverNamespaces unchanged',
    'DroverPool unchanged',
    'DroverReplicaSet unchanged',
    'DroverRevision unchanged',
    'DroverPhase unchanged',
    'is running',
  ]);
  expect(new Set(await crds())).toEqual(new Set(droverCrds().map(({ metadata: { name } }) => name)));
  const { client, connection } = await connectTemporal({ address: stack.temporalAddress, configured: false });
  onTestFinished(() => connection.close());
  // Visibility lags a little. The query can find the workflow only by its search attribute.
  await expect
    .poll(() => client.workflow.count("DroverCluster = 'default' AND WorkflowType = 'watch'"), { timeout: PATIENCE_MS })
    .toMatchObject({ count: 1 });
});

test('after the setup, `drover doctor` misses only what is not there: workers, and in this test KubeVirt', async () => {
  // The API server puts a policy into force some moments after it has it.
  await expect
    .poll(async () => (await examined()).found['Admission policies'], { timeout: PATIENCE_MS })
    .toEqual(['OK']);
  const { code, found } = await examined();
  expect(code).toBe(1);
  expect(found).toMatchObject({ Definitions: ['OK'], 'Search attributes': ['OK'], Watch: ['Unknown'] });
  expect(Object.keys(found).filter((check) => found[check]!.includes('Failed'))).toEqual([
    'KubeVirt',
    'virt-api',
    'Workers',
  ]);
});

test('commands that look for VMs say that KubeVirt is missing, not that the VMs are', async () => {
  const vm = { runStrategy: 'Always', template: { spec: { domain: { devices: {} } } } };
  const metadata = { namespace: 'default', name: 'web' };
  await kube.create(VirtualMachinePools, { metadata, spec: { replicas: 3, template: { spec: vm } } });
  onTestFinished(async () => void (await kube.delete(VirtualMachinePools, metadata)));
  const definition = await kube.get(CustomResourceDefinitions, { name: 'virtualmachines.kubevirt.io' });
  onTestFinished(() => installCrds(kube, [definition]));
  await kube.delete(CustomResourceDefinitions, definition.metadata);
  const stderr = 'error: the cluster does not know VirtualMachine of kubevirt.io/v1: KubeVirt is not installed in it\n';
  // The API server serves a definition for some moments after it is deleted.
  await expect
    .poll(() => drover('scale', 'pool', 'web', '--remove', 'web-1'), { timeout: PATIENCE_MS })
    .toMatchObject({ code: 1, stdout: '', stderr });
});

test('`drover doctor` finds a binding that only warns, and tells users what they may not do', async () => {
  const binding = { name: 'operations.drover.dev' };
  const only = (validationActions: string[]): Promise<unknown> =>
    kube.patch(ValidatingAdmissionPolicyBindings, binding, 'merge', { spec: { validationActions } });
  await only(['Warn']);
  expect((await examined()).found).toMatchObject({ 'Admission policies': ['Failed'] });
  await only(['Deny']);
  const { found } = await examined({ ...env(), KUBECONFIG: await ofServiceAccount('reader') });
  expect(found).toMatchObject({
    'Your rights': ['Warning', 'Warning', 'Warning'],
    'Admission policies': ['Unknown'],
    "Workers' rights": ['Unknown'],
  });
});

test('a namespace without room for the search attributes gets none of them, and the message says what to do', async () => {
  const { connection } = await connectTemporal({ address: stack.temporalAddress, configured: false });
  onTestFinished(() => connection.close());
  const namespace = 'shared';
  const { config } = await connection.workflowService.describeNamespace({ namespace: 'default' });
  await connection.workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: config!.workflowExecutionRetentionTtl!,
  });
  const KEYWORD = 2;
  const searchAttributes = Object.fromEntries([1, 2, 3, 4, 5].map((number) => [`Theirs${number}`, KEYWORD]));
  // A new namespace is served after a moment.
  await waitFor(() => connection.operatorService.addSearchAttributes({ namespace, searchAttributes }), 30_000);
  const { code, stderr } = await drover('setup', '--temporal-namespace', namespace);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr:
      "error: Temporal's namespace shared has no room for drover's search attributes, and none was registered: " +
      'it has 5 of type Keyword and room for 5 more, and drover needs 6: give drover its own namespace, by ' +
      '`temporal operator namespace create --namespace drover` and --temporal-namespace drover\n',
  });
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  expect(Object.keys(customAttributes ?? {}).filter((name) => !name.startsWith('Theirs'))).toEqual([]);
});

test('its custom resources can be deleted only by a user who confirms that', async () => {
  for (const name of await crds()) {
    // The API server puts a policy into force some moments after it has it.
    await expect
      .poll(() => kube.delete(CustomResourceDefinitions, { name }, { dryRun: true }).then(String, String), {
        timeout: PATIENCE_MS,
      })
      .toContain('deleting this definition would delete all objects of its kind');
  }
  const name = 'virtualmachinepools.drover.dev';
  const annotations = { [CONFIRM_DELETION_ANNOTATION]: 'true' };
  await kube.patch(CustomResourceDefinitions, { name }, 'merge', { metadata: { annotations } });
  await kube.delete(CustomResourceDefinitions, { name }, { dryRun: true });
});

test('a second cluster has a watch of its own', async () => {
  const { code, stdout } = await run(['setup'], { ...env(), DROVER_CLUSTER: 'east' });
  expect(code).toBe(0);
  expect(stdout).toContain('workflow watch/east started\n');
});

test('a worker serves the cluster until Ctrl-C', async () => {
  const worker = spawnReaped(process.execPath, [BIN, 'worker', '--state', stack.state], {
    env: { ...nowhere, HOME: stack.state, KUBECONFIG: '/nonexistent', TEMPORAL_ADDRESS: '127.0.0.1:1' },
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  onTestFinished(() => void worker.kill('SIGKILL'));
  const ended = once(worker, 'exit');
  await new Promise<void>((ready, failed) => {
    createInterface({ input: worker.stderr! }).on('line', (line) => line.includes('"worker ready"') && ready());
    void ended.then(([code]) => failed(new Error(`the worker ended with ${String(code)}`)));
  });
  worker.kill('SIGINT');
  expect(await ended).toEqual([130, null]);
});

/** Writes a kubeconfig of a service account without any permission. */
async function ofServiceAccount(name: string): Promise<string> {
  const path = '/api/v1/namespaces/default/serviceaccounts';
  await kube.request({ method: 'POST', path, body: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } } });
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
  const { status } = await kube.request<{ status: { token: string } }>({
    method: 'POST',
    path: `${path}/${name}/token`,
    body,
  });
  const file = join(stack.state, `kubeconfig-${name}`);
  writeFileSync(file, readFileSync(stack.kubeconfig, 'utf8').replace(/token: \w+/, `token: ${status.token}`));
  return file;
}

test('an older release removes nothing from the custom resources of a newer one, nor do its manifests', async () => {
  const name = (await crds())[0]!;
  const stamped = async (release: string | null): Promise<void> =>
    void (await kube.patch(CustomResourceDefinitions, { name }, 'merge', {
      metadata: { annotations: { 'drover.dev/release': release } },
    }));
  await stamped('99.0.0');
  expect(await drover('setup')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /^error: \w+\.drover\.dev comes from drover 99.0.0, and this is drover \d.*\n$/,
    ) as string,
  });
  const older = droverCrds().find(({ metadata }) => metadata.name === name)! as KubeObject;
  await expect(kube.patch(CustomResourceDefinitions, { name }, 'apply', older, { force: true })).rejects.toThrow(
    /this definition is of drover 99.0.0, and that of \d.* would remove from all objects the fields that it does not know/,
  );
  await stamped('99.1.0');
  await stamped(null);
  expect(await drover('setup')).toMatchObject({ code: 0 });
});
