import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { VirtualMachineOperations, VirtualMachines } from '../../../api/resources.ts';
import type { Report } from '../../../clients/machine-types/print-report.ts';
import type { PendingVm } from '../../../clients/power/pending.ts';
import type { Act } from '../../../decisions/history/act.ts';
import { operationResource } from '../../../decisions/operations/ref.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import { operationIdOf } from '../../../workflows/lib/messages.ts';
import { needs } from '../../cluster/given/needs.ts';
import { aFleet, neverReady, until, type TestWorker } from '../../integration/fleet.ts';
import { TypedVms, NEW, OLD, OLD_GLOB, setAlias } from '../../integration/machine-types/machine-types.ts';
import { follow, nowhere, outcomeOf, start, type Outcome } from '../drover.ts';
import { droverHere as run } from '../in-process.ts';

const fleet = aFleet();
let worker: TestWorker;
beforeAll(async () => {
  worker = await fleet().worker();
});

/** Only the API server: commands need no Temporal. */
const env = (): NodeJS.ProcessEnv => ({
  ...nowhere,
  KUBECONFIG: fleet().stack.kubeconfig,
  TEMPORAL_ADDRESS: '127.0.0.1:1',
});
/** With Temporal, whose records only the history and a report of VMs that are gone read. */
const withTemporal = (...words: string[]): Promise<Outcome> => run(words, { ...nowhere, ...fleet().stack.env });
const drover = (...words: string[]): Promise<Outcome> => run(words, env());
const machineTypes = (...words: string[]): Promise<Outcome> => drover('machine-types', ...words);
/** Updates the VMs of one namespace that have an old type. */
const update = ({ namespace }: TypedVms, ...words: string[]): Promise<Outcome> =>
  machineTypes('update', '--which-matches-glob', OLD_GLOB, '-n', namespace, ...words);

const nameIn = ({ stdout }: { stdout: string }): string => BEGUN.exec(stdout)![1]!;
const BEGUN = /operation (\S*machine-types-\w+) started/;
/** Returns the name of the operation in the output, as `NAMESPACE/NAME`, and deletes that after the test. */
function idIn(outcome: { stdout: string }): string {
  const id = nameIn(outcome);
  onTestFinished(() =>
    fleet()
      .kube.delete(operationResource(keyOf(id)), keyOf(id))
      .then(ignored, ignored),
  );
  return id;
}
const ignored = (): void => undefined;
const keyOf = (id: string): { namespace?: string; name: string } => {
  const [name = '', namespace] = id.split('/').toReversed();
  return { name, ...(namespace === undefined ? {} : { namespace }) };
};
const lastPart = (id: string): string => keyOf(id).name;
const read = (id: string): Promise<StoredOperation> => fleet().kube.get(operationResource(keyOf(id)), keyOf(id));
const uidOf = async (id: string): Promise<string> => (await read(id)).metadata.uid;
/** Resolves when the operation stands so, by the reason of its condition Progressing. */
const stands = (id: string, reason: string): Promise<void> =>
  until(async () => {
    const { conditions = [] } = (await read(id)).status ?? {};
    expect(conditions.find(({ type }) => type === 'Progressing')).toMatchObject({ reason });
  });
const operationsMade = async (): Promise<number> => (await fleet().kube.list(VirtualMachineOperations)).items.length;
const reportOf = async (id: string): Promise<Report> =>
  JSON.parse((await machineTypes('report', id, '-o', 'json')).stdout) as Report;
/** How it is seen and ended. */
const goesOn = (id: string): string => {
  const { namespace, name } = keyOf(id);
  const show = `\`drover operations describe ${name} -n ${namespace} --watch\` shows it`;
  return `${id} is still running: ${show}, \`drover operations abort ${name} -n ${namespace}\` ends it`;
};
const matching = (pattern: RegExp): string => expect.stringMatching(pattern) as string;

describe('a whole update', () => {
  let typedVms: TypedVms;
  let id: string;
  beforeAll(async () => {
    typedVms = await TypedVms.of(fleet(), {
      'db-1': {},
      'db-2': { runStrategy: 'Once' },
      new: { type: NEW },
      off: { runStrategy: 'Halted' },
    });
  });

  test('changes what matches, restarts the VMIs, and says so', async () => {
    const before = await typedVms.vmis();
    const done = await update(typedVms, '--restart-now', '--reason', 'RHEL 10');
    id = nameIn(done);
    expect(done).toMatchObject({ code: 0, stderr: '' });
    expect(done.stdout).toMatch(
      new RegExp(`^operation ${id} started: 3 VMs, \\*rhel8\\.\\* to the default, VMIs restarted by drover\n`),
    );
    expect(done.stdout).toMatch(
      /█{20} 3\/3 done: Complete\n.*; requested by \S+: RHEL 10\n( {2}pc.* becomes q35 .*\n)+\n3 of 3 VMs done: 3 changed, 2 restarted by drover\n$/,
    );
    expect(await Promise.all(['db-1', 'db-2', 'off', 'new'].map((name) => typedVms.type(name)))).toEqual([
      'q35',
      'q35',
      'q35',
      NEW,
    ]);
    const after = await typedVms.vmis();
    expect(Object.keys(after).filter((name) => after[name] !== before[name])).toEqual(['db-1', 'db-2']);
    expect((await typedVms.vm('db-2')).spec).toMatchObject({ runStrategy: 'Once' });
  });

  test('is listed with its phase, and reported when it is over', async () => {
    const { namespace } = typedVms;
    const row = `${namespace} +${lastPart(id)} +Complete +\\*rhel8\\.\\* +<default> +drover +3 +0 +\\S+ +\\S+ +RHEL 10\n`;
    expect((await machineTypes('list')).stdout).toMatch(
      new RegExp(
        `^NAMESPACE +NAME +STATE +FROM +TO +RESTARTED BY +DONE +FAILED +AGE +REQUESTED BY +REASON\n(.*\n)*${row}`,
      ),
    );
    expect(await machineTypes('status', lastPart(id), '--watch')).toMatchObject({
      code: 0,
      stderr: '',
      stdout: matching(/ 3\/3 done: Complete\n[^]*\n3 of 3 VMs done: 3 changed, 2 restarted by drover\n$/),
    });
    const over = `error: operation ${id} has already ended\n`;
    expect(await machineTypes('pause', lastPart(id))).toMatchObject({ code: 1, stderr: over });
  });

  test('is reported for a program', async () => {
    const row = {
      namespace: typedVms.namespace,
      name: 'db-1',
      from: OLD,
      to: 'q35',
      vmiTypeBefore: OLD,
      state: 'Done',
      message: null,
    };
    const report = await reportOf(id);
    expect(report).toMatchObject({ id, phase: 'Complete', transition: { reason: 'RHEL 10' } });
    expect(report.items).toContainEqual(row);
  });

  test('is in the history of each of its VMs', async () => {
    const { code, stdout } = await withTemporal('history', 'vm', 'db-1', '-n', typedVms.namespace, '-o', 'json');
    expect(code).toBe(0);
    const { metadata, spec } = await read(id);
    const { requestedBy } = spec;
    const workflow = operationIdOf({ cluster: 'default', ...metadata });
    const told = (JSON.parse(stdout) as Act[]).map(({ action, vms, from, to, end, requestedBy, workflow }) => [
      action,
      vms.join(),
      from,
      to,
      end,
      requestedBy,
      workflow,
    ]);
    expect(told).toEqual([
      ['machine type', 'db-1', OLD, 'q35', 'Done', requestedBy, workflow],
      ['restart', 'db-1', null, null, 'Restarted', requestedBy, workflow],
    ]);
  });

  test('is planned to be undone, and that writes nothing', async () => {
    await typedVms.setType('off', NEW);
    const before = [
      await typedVms.vmis(),
      await typedVms.record('db-1'),
      (await typedVms.vm('db-1')).metadata.resourceVersion,
    ];
    const begun = await operationsMade();
    const dry = await machineTypes('undo', lastPart(id), '--restart-now', '--max-restarts', '1', '--dry-run');
    expect(dry).toMatchObject({ code: 0, stderr: '' });
    expect(
      dry.stdout.split('\n').map((row) => row.replaceAll(/ {3,}/g, ' | ').replace(typedVms.namespace, 'NS')),
    ).toEqual([
      'NAMESPACE | NAME | TYPE | RESULT | NEEDS',
      `NS | db-1 | q35 | ${OLD} | change, restart`,
      `NS | db-2 | q35 | ${OLD} | change, restart`,
      `NS | off | ${NEW} | ${NEW} | excluded: its machine type was set to ${NEW} since`,
      '',
      '3 VMs: 2 to change and restart, 1 excluded; 1 restarted at a time',
      '',
    ]);
    expect([
      await typedVms.vmis(),
      await typedVms.record('db-1'),
      (await typedVms.vm('db-1')).metadata.resourceVersion,
    ]).toEqual(before);
    expect(await operationsMade()).toBe(begun);
  });

  test('is undone, except for a VM that a user has changed since', async () => {
    const undone = await machineTypes(
      'undo',
      lastPart(id),
      '-n',
      typedVms.namespace,
      '--restart-now',
      '--max-restarts',
      '100%',
    );
    const undo = idIn(undone);
    expect(undone).toMatchObject({
      code: 0,
      stdout: matching(
        new RegExp(
          `^operation ${undo} started: 3 VMs, undo of ${lastPart(id)}, VMIs restarted by drover\n[^]*\n2 of 2 VMs done: 2 changed, 2 restarted by drover\n$`,
        ),
      ),
    });
    expect(await Promise.all(['db-1', 'db-2', 'off', 'new'].map((name) => typedVms.type(name)))).toEqual([
      OLD,
      OLD,
      NEW,
      NEW,
    ]);
    expect((await machineTypes('list')).stdout).toContain(`undo of ${lastPart(id)}`);
    // Only the history of its run tells of a VM whose record is another operation's now.
    const first = await withTemporal('machine-types', 'report', id, '-o', 'json');
    const again = (JSON.parse(first.stdout) as Report).items.filter(({ name }) => name === 'db-1');
    expect(again).toMatchObject([
      { to: 'q35', state: 'ChangedSince', message: `operation ${lastPart(undo)} has changed it since` },
    ]);
    await typedVms.remove('db-1');
    const told = await withTemporal('machine-types', 'report', undo, '-o', 'json');
    const { items } = JSON.parse(told.stdout) as Report;
    expect(items.filter(({ name }) => name.startsWith('db-'))).toMatchObject([
      { name: 'db-2', from: 'q35', to: OLD, state: 'Done' },
      { name: 'db-1', state: 'Gone', message: 'it no longer exists' },
    ]);
    expect(await machineTypes('report', id, '-n', 'elsewhere')).toMatchObject({
      code: 0,
      stdout: '',
      stderr: `${id} has changed no VM in namespace elsewhere\n`,
    });
  });
});

test('VMs are selected by all flags together, changed, and restarted', async () => {
  const names = ['web', 'web-off', 'db', 'db-off'];
  const labels = { tier: 'web' };
  const off = { runStrategy: 'Halted' };
  const shapes = { web: { labels }, 'web-off': { labels, ...off }, db: {}, 'db-off': off };
  const [here, there] = await Promise.all([TypedVms.of(fleet(), shapes), TypedVms.of(fleet(), shapes)]);
  const typesIn = (typedVms: TypedVms): Promise<(string | undefined)[]> =>
    Promise.all(names.map((name) => typedVms.type(name)));
  const [before, others] = [await here.vmis(), await there.vmis()];
  const flags = [
    '--which-matches-glob',
    OLD_GLOB,
    '-n',
    here.namespace,
    '--label-selector',
    'tier=web',
    '--restart-now',
  ];
  const done = await machineTypes('update', ...flags);
  idIn(done);
  expect(done).toMatchObject({ code: 0, stdout: matching(/\n2 of 2 VMs done: 2 changed, 1 restarted by drover\n$/) });
  expect(await typesIn(here)).toEqual(['q35', 'q35', OLD, OLD]);
  for (const name of names) expect(await here.mark(name)).toBeUndefined();
  const after = await here.vmis();
  expect(Object.keys(after).filter((name) => after[name] !== before[name])).toEqual(['web']);
  expect((await here.vmi('web'))?.status?.machine?.type).toBe(NEW);
  expect([await typesIn(there), await there.vmis()]).toEqual([[OLD, OLD, OLD, OLD], others]);
});

test('a command without --restart-now follows until all VMs are changed, and the change continues until their owners have restarted them', async () => {
  await setAlias(fleet(), OLD);
  const typedVms = await TypedVms.of(fleet(), { alias: { type: 'q35' }, db: {}, off: { runStrategy: 'Halted' } });
  await setAlias(fleet(), NEW);
  const begun = await update(typedVms);
  const id = idIn(begun);
  expect(begun.code).toBe(0);
  expect(begun.stdout).toMatch(/\n1 of 3 VMs done: \d changed by drover; 2 waiting for a restart by their owners\n$/);
  const label = `drover.dev/machine-type-restart-required=${await uidOf(id)}`;
  expect(begun.stderr).toBe(
    `${goesOn(id)}; \`drover vm pending -n ${typedVms.namespace} -l ${label}\` lists the VMs that wait for a restart (a reboot inside the guest is one only under rebootPolicy Terminate)\n`,
  );
  expect((await reportOf(id)).items.map(({ name, state, message: why }) => [name, state, why])).toEqual([
    ['alias', 'Waiting', `its VMI still has ${OLD}`],
    ['db', 'Waiting', `its VMI still has ${OLD}`],
    ['off', 'Done', null],
  ]);
  const { items } = JSON.parse((await drover('vm', 'pending', '-A', '-l', label, '-o', 'json')).stdout) as {
    items: PendingVm[];
  };
  expect(items.map(({ name }) => name)).toEqual(['alias', 'db']);
  expect(items[0]!.message).toBe(`its VMI has machine type ${OLD}, which operation ${lastPart(id)} takes away`);
  const watching = machineTypes('status', lastPart(id), '--watch');
  expect(await drover('vm', 'restart', '--pending', '-A', '-l', label, '--max-unavailable', '100%')).toMatchObject({
    code: 0,
  });
  expect(await watching).toMatchObject({
    code: 0,
    stderr: '',
    stdout: matching(/ 3\/3 done: Complete\n[^]*\n3 of 3 VMs done: \d changed by drover\n$/),
  });
});

describe('a running change', () => {
  test('is left by Ctrl-C, with the commands to look at it and to end it', async () => {
    const typedVms = await TypedVms.of(fleet(), { db: {} });
    await typedVms.patch('db', neverReady);
    const child = start(
      ['machine-types', 'update', '--which-matches-glob', OLD_GLOB, '-n', typedVms.namespace, '--restart-now'],
      env(),
    );
    const outcome = outcomeOf(child);
    const untilShown = follow(child.stdout!);
    await untilShown('1 in progress');
    child.kill('SIGINT');
    const { code, stdout, stderr } = await outcome;
    const id = idIn({ stdout });
    expect({ code, stderr }).toEqual({ code: 130, stderr: `\n${goesOn(id)}\n` });
    await fleet().letBecomeReady(typedVms.key('db'));
    expect(await machineTypes('status', lastPart(id), '--watch')).toMatchObject({
      code: 0,
      stdout: matching(/\n1 of 1 VM done: 1 changed, 1 restarted by drover\n$/),
    });
  });

  test('continues if a user has terminated its workflow', async () => {
    const typedVms = await TypedVms.of(fleet(), { db: {} });
    const transition = await typedVms.change();
    await transition.until({ phase: 'Waiting' });
    await transition.handle.terminate('by hand');
    await typedVms.power('db', 'restart');
    await transition.operation.stands('Complete');
    expect(await typedVms.mark('db')).toBeUndefined();
  });

  test('is begun without waiting, paused, resumed and aborted, each with its requester and reason', async () => {
    const typedVms = await TypedVms.of(fleet(), { 'db-1': {}, 'db-2': {} });
    const begun = await update(typedVms, '--no-wait');
    const id = idIn(begun);
    expect(begun).toMatchObject({
      code: 0,
      stderr: '',
      stdout: `operation ${id} started: 2 VMs, *rhel8.* to the default, VMIs restarted by their owners\n`,
    });
    await stands(id, 'Waiting');
    // The name may be left out if exactly one continues.
    const inNamespace = ['-n', typedVms.namespace];
    expect(await machineTypes('pause', '--reason', 'lunch', ...inNamespace)).toMatchObject({
      code: 0,
      stdout: `operation ${id} paused\n`,
      stderr: '',
    });
    await stands(id, 'Paused');
    await typedVms.add('db-3');
    expect((await machineTypes('status', ...inNamespace)).stdout).toMatch(
      /: Paused\n {2}paused by (?!its object)\S+ \d+s ago: lunch\n/,
    );
    expect(await machineTypes('resume', lastPart(id))).toMatchObject({ code: 0, stdout: `operation ${id} resumed\n` });
    await until(async () => expect(await typedVms.type('db-3')).toBe('q35'));
    const refused = await machineTypes('undo', id, '--no-wait');
    expect(refused).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `error: ${id} is still running, and would change again what is undone: \`drover operations abort ${lastPart(id)} -n ${typedVms.namespace}\` ends it\n`,
    });
    const watching = machineTypes('status', lastPart(id), '--watch');
    expect(await machineTypes('abort', lastPart(id), '--reason', 'enough')).toMatchObject({
      code: 0,
      stdout: `operation ${id} aborted\n`,
    });
    expect(await watching).toMatchObject({
      code: 1,
      stderr: matching(/^error: 3 VMs are not done: the run was aborted by (?!its object)\S+: enough/),
    });
    expect((await reportOf(id)).items[0]).toMatchObject({
      name: 'db-1',
      state: 'Waiting',
      message: `its VMI still has ${OLD}, and nothing waits for its restart any more`,
    });
  });

  test('keeps another off its VMs, which is reported', async () => {
    const typedVms = await TypedVms.of(fleet(), { db: {} });
    const transition = await typedVms.change();
    const first = typedVms.key(transition.operation.key.name);
    await transition.until({ phase: 'Waiting' });
    const second = await update(typedVms, '--restart-now', '--no-wait');
    const id = idIn(second);
    const why = `operation ${first} is changing it, until that ends or is aborted`;
    expect(second).toMatchObject({ code: 0, stderr: `deferred: ${typedVms.key('db')}: ${why}\n` });
    await stands(id, 'Waiting');
    expect((await machineTypes('status', lastPart(id))).stdout).toMatch(
      new RegExp(` 0/1 done, 1 deferred: Waiting\n {2}deferred: ${typedVms.key('db')}: ${why}`),
    );
    const which = /^error: 2 operations are running, name one: /;
    expect(await machineTypes('pause', '-n', typedVms.namespace)).toMatchObject({ code: 1, stderr: matching(which) });
    expect((await reportOf(id)).items).toMatchObject([{ name: 'db', state: 'Deferred' }]);
  });
});

describe('a change that is not possible', () => {
  test('is refused in a sentence before anything is changed', async () => {
    needs('machine types on nodes');
    const typedVms = await TypedVms.of(fleet(), { off: { runStrategy: 'Halted' } });
    const refused = await update(typedVms, '--to', 'pc-q35-rhel9.9.9');
    const id = idIn(refused);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/^error: \S+: .*pc-q35-rhel9\.9\.9.*\n$/);
    expect(await typedVms.type('off')).toBe(OLD);
    expect(await machineTypes('status', lastPart(id))).toMatchObject({
      code: 0,
      stdout: matching(/ Refused\n {2}.*pc-q35-rhel9\.9\.9/),
    });
  });

  test('an operation that would be made is printed by -o yaml, and not made', async () => {
    const typedVms = await TypedVms.of(fleet(), { off: { runStrategy: 'Halted' } });
    const yaml = await update(typedVms, '-o', 'yaml');
    expect(yaml).toMatchObject({ code: 0, stdout: matching(/^apiVersion: drover\.dev\/v1alpha1\n/) });
    expect(yaml.stdout).toContain('machineType:\n    from: "*rhel8.*"\n');
    expect(await typedVms.record('off')).toBeUndefined();
  });

  test('a glob that nothing matches, and a dry run, begin nothing', async () => {
    const typedVms = await TypedVms.of(fleet(), { off: { runStrategy: 'Halted' } });
    const none = await machineTypes('update', '--which-matches-glob', '*rhel8-*', '-n', typedVms.namespace);
    const types = `TYPE +VMS +VMIS\n${OLD} +1 +0\n`;
    expect(none).toMatchObject({
      code: 1,
      stdout: '',
      stderr: matching(new RegExp(`^${types}error: no VM in namespace \\S+ has .* matches \\*rhel8-\\*\n$`)),
    });
    const dry = await update(typedVms, '--dry-run');
    expect(dry).toMatchObject({
      code: 0,
      stderr: '',
      stdout: matching(new RegExp(`\n${typedVms.namespace} +off +${OLD} +q35 +change\n`)),
    });
    expect(dry.stdout).not.toMatch(BEGUN);
    expect(await typedVms.record('off')).toBeUndefined();
    expect(await machineTypes('undo', '00000000')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'error: no VM has a record of 00000000: `drover operations get -A` lists the operations\n',
    });
  });

  test('a VM that does not come back fails the change', async () => {
    const typedVms = await TypedVms.of(fleet(), {
      db: { simulation: { 'sim.drover.dev/boot-time': '100ms' } },
      'db-2': {},
    });
    for (const name of ['db', 'db-2']) await typedVms.patch(name, neverReady);
    const failed = await update(typedVms, '--restart-now', '--deadline', '2s');
    const id = idIn(failed);
    expect(failed.code).toBe(1);
    expect(failed.stderr).toMatch(
      /^error: \S+\/db\S* failed: not ready in time: .*\nerror: 1 VM is not done: too many have failed \(--max-failures 0\)\n$/,
    );
    const { items } = await reportOf(id);
    expect(items.filter(({ state }) => state === 'Failed')).toMatchObject([{ message: matching(/not ready in time/) }]);
  });
});

test('a change that is tried in vain is reported, until it succeeds', async () => {
  const typedVms = await TypedVms.of(fleet(), { off: { runStrategy: 'Halted' } });
  const allow = await deafen(typedVms.namespace);
  const { operation } = await typedVms.change();
  const problem =
    /the check before the first change has failed \d+ times, and is tried again: .*failed calling webhook/;
  const status = (...words: string[]): Promise<Outcome> =>
    machineTypes('status', operation.key.name, '-n', typedVms.namespace, ...words);
  await operation.until({ waits: [{ message: matching(problem) }] });
  expect((await status()).stdout).toMatch(problem);
  const watching = status('--watch');
  await allow();
  expect(await watching).toMatchObject({ code: 0, stdout: matching(/\n1 of 1 VM done: 1 changed by drover\n$/) });
  expect((await status()).stdout).not.toContain('tried again');
});

/** Blocks updates of VMs in the namespace with a webhook that doesn't answer; the returned function unblocks them. */
async function deafen(namespace: string): Promise<() => Promise<void>> {
  const { kube } = fleet();
  const webhooks = {
    group: 'admissionregistration.k8s.io',
    version: 'v1',
    plural: 'validatingwebhookconfigurations',
    kind: 'ValidatingWebhookConfiguration',
    namespaced: false,
  };
  const webhook = {
    name: 'away.drover.test',
    clientConfig: { url: 'https://127.0.0.1:1/' },
    rules: [{ apiGroups: ['kubevirt.io'], apiVersions: ['*'], operations: ['UPDATE'], resources: ['virtualmachines'] }],
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    timeoutSeconds: 1,
  };
  const metadata = { name: `${namespace}.test` };
  await kube.create(webhooks, { metadata, webhooks: [webhook] });
  const [vm] = (await kube.list(VirtualMachines, { namespace })).items;
  // The API server needs a moment to pick the webhook up.
  await until(() =>
    expect(
      kube.patch(VirtualMachines, vm!.metadata, 'merge', { metadata: { labels: {} } }, { dryRun: true }),
    ).rejects.toThrow('failed calling webhook'),
  );
  return () => kube.delete(webhooks, metadata).then(() => undefined);
}

test('a change whose operation is deleted is reported, and undone, by its records on the VMs', async () => {
  const typedVms = await TypedVms.of(fleet(), { off: { runStrategy: 'Halted' } });
  const done = await typedVms.change();
  await done.operation.stands('Complete');
  const { name } = done.operation.key;
  await done.operation.delete();
  const inNamespace = ['-n', typedVms.namespace];
  expect(await machineTypes('report', name, ...inNamespace)).toMatchObject({
    code: 0,
    stderr: `${name} is deleted: what failed or was skipped is not known\n`,
    stdout: matching(new RegExp(`\n${typedVms.namespace} +off +${OLD} +q35 +<none> +Done +<none>\n$`)),
  });
  expect(await machineTypes('report', '00000000', ...inNamespace)).toMatchObject({
    code: 1,
    stderr: `error: no VM in namespace ${typedVms.namespace} has a record of 00000000: \`drover operations get -A\` lists the operations\n`,
  });
  idIn(await machineTypes('undo', name, ...inNamespace));
  expect(await typedVms.type('off')).toBe(OLD);
});

// The last test: it kills the worker.
test('a finished change is reported without a worker', async () => {
  needs('machine types on nodes');
  const typedVms = await TypedVms.of(fleet(), { off: { runStrategy: 'Halted' } });
  const done = await typedVms.change();
  await done.operation.stands('Complete');
  await typedVms.add('db', { runStrategy: 'Halted' });
  const refused = await typedVms.change({ to: 'pc-q35-rhel9.9.9' });
  await refused.operation.stands('Refused');
  await worker.kill();
  const status = ({ operation }: typeof done): Promise<Outcome> =>
    machineTypes('status', operation.key.name, '-n', typedVms.namespace);
  expect(await status(refused)).toMatchObject({ code: 0, stdout: matching(/ Refused\n {2}.*pc-q35-rhel9\.9\.9/) });
  expect(await status(done)).toMatchObject({ code: 0, stdout: matching(/ 1\/1 done: Complete\n/) });
});
