import { expect, test } from 'vitest';
import { MACHINE_TYPE_RESTART_LABEL } from '../../../api/labels-and-annotations.ts';
import { KubeVirts, Nodes, VirtualMachineInstances, VirtualMachines } from '../../../api/resources.ts';
import type { PlannedItem, TransitionPlanned } from '../../../clients/machine-types/plan.ts';
import type { TypeInUse } from '../../../clients/machine-types/types-in-use.ts';
import { needs } from '../../cluster/given/needs.ts';
import { aFleet, until } from '../../integration/fleet.ts';
import { TypedVms, NEW, OLD, OLD_GLOB, setAlias } from '../../integration/machine-types/machine-types.ts';
import { TestOperation } from '../../integration/operations/operations.ts';
import { nowhere, type Outcome } from '../drover.ts';
import { droverHere as run } from '../in-process.ts';

// Reading needs no worker.
const fleet = aFleet({ workers: 0 });

/** Only the API server: no Temporal is there. */
const env = (): NodeJS.ProcessEnv => ({
  ...nowhere,
  KUBECONFIG: fleet().stack.kubeconfig,
  TEMPORAL_ADDRESS: '127.0.0.1:1',
});
const machineTypes = (...words: string[]): Promise<Outcome> => run(['machine-types', ...words], env());
const plan = ({ namespace }: TypedVms, ...words: string[]): Promise<Outcome> =>
  machineTypes('plan', '--which-matches-glob', OLD_GLOB, '-n', namespace, ...words);

async function planned(typedVms: TypedVms, ...words: string[]): Promise<TransitionPlanned> {
  const { stdout } = await plan(typedVms, '-o', 'json', ...words);
  return JSON.parse(stdout) as TransitionPlanned;
}
const needsOf = ({ items }: TransitionPlanned): string[] => items.map(({ name, need }) => `${name}: ${need}`);
const matching = (pattern: RegExp): string => expect.stringMatching(pattern) as string;

/** Returns everything that a write in the namespace would change. */
async function versionsIn(namespace: string): Promise<string[]> {
  const [vms, vmis] = await Promise.all(
    [VirtualMachines, VirtualMachineInstances].map((resource) => fleet().kube.list(resource, { namespace })),
  );
  return [...vms!.items, ...vmis!.items].map(
    ({ metadata }) => `${metadata.name} ${metadata.uid} ${metadata.generation}`,
  );
}

test('types in use are counted by namespace, and those older than what nodes have are reported', async () => {
  needs('machine types on nodes');
  const one = await TypedVms.of(fleet(), {
    'db-1': {},
    'db-2': { type: 'q35' },
    off: { runStrategy: 'Halted', type: 'pc-q35-rhel8.2.0' },
  });
  const other = await TypedVms.of(fleet(), { web: { type: 'pc-q35-rhel9.8.0' }, 'web-2': {} });
  const all = await machineTypes('types');
  expect(all).toMatchObject({ code: 0, stderr: '' });
  const rows = all.stdout.split('\n').map((row) => row.replaceAll(/ {3,}/g, ' | '));
  expect(rows[0]).toBe('NAMESPACE | TYPE | VMS | VMIS | STATE');
  expect(rows).toEqual(
    expect.arrayContaining([
      `${one.namespace} | pc-q35-rhel8.2.0 | 1 | 0 | no schedulable node has it`,
      `${one.namespace} | ${OLD} | 1 | 1 | older: nodes have pc-q35-rhel9.8.0`,
      `${other.namespace} | ${OLD} | 1 | 1 | older: nodes have pc-q35-rhel9.8.0`,
      `${one.namespace} | ${NEW} | 0 | 1 | older: nodes have pc-q35-rhel9.8.0; no VM asks for this one`,
      `${one.namespace} | q35 | 1 | 0 | alias`,
      `${other.namespace} | pc-q35-rhel9.8.0 | 1 | 1 | newest of the nodes`,
    ]),
  );
  const own = await machineTypes('types', '-n', other.namespace, '-o', 'json');
  const { length } = (await fleet().kube.list(Nodes)).items;
  const counts = { vms: 1, vmis: 1 };
  const { items } = JSON.parse(own.stdout) as { items: TypeInUse[] };
  expect(items).toEqual([
    {
      type: OLD,
      ...counts,
      namespaces: { [other.namespace]: counts },
      isAlias: false,
      nodes: length,
      newer: 'pc-q35-rhel9.8.0',
      isOld: true,
    },
    {
      type: 'pc-q35-rhel9.8.0',
      ...counts,
      namespaces: { [other.namespace]: counts },
      isAlias: false,
      nodes: length,
      newer: null,
      isOld: false,
    },
  ]);
  expect((await machineTypes('types', '-n', other.namespace, '-o', 'wide')).stdout).toMatch(
    /^NAMESPACE +TYPE +VMS +VMIS +NODES +NEWER +STATE\n/,
  );
  const empty = await fleet().namespace();
  expect(await machineTypes('types', '-n', empty)).toEqual({
    code: 0,
    signal: null,
    stdout: expect.stringContaining('other types that nodes have, and how many do: pc-q35-') as string,
    stderr: `no VM in namespace ${empty} has a machine type\n`,
  });
  expect(await machineTypes('types', '-n', 'nobody')).toEqual({
    code: 1,
    signal: null,
    stdout: '',
    stderr: 'error: there is no namespace nobody\n',
  });
});

test('a plan says for each VM what it would get and needs, and writes nothing', async () => {
  const typedVms = await TypedVms.of(fleet(), {
    new: { type: NEW },
    off: { runStrategy: 'Halted' },
    on: {},
    stays: { annotations: { 'drover.dev/do-not-disrupt': 'true' } },
    paused: {},
  });
  await typedVms.vmiPower('paused', 'pause');
  await setAlias(fleet(), OLD);
  await typedVms.add('alias', { type: 'q35' });
  await typedVms.ready(['alias']);
  await setAlias(fleet(), NEW);
  await until(async () => expect((await typedVms.vm('paused')).status?.printableStatus).toBe('Paused'));
  const before = await versionsIn(typedVms.namespace);
  const table = await plan(typedVms, '--restart-now', '--max-restarts', '2');
  expect(table).toMatchObject({ code: 0, stderr: '' });
  expect(
    table.stdout.split('\n').map((row) => row.replaceAll(/ {3,}/g, ' | ').replace(typedVms.namespace, 'NS')),
  ).toEqual([
    'NAMESPACE | NAME | TYPE | RESULT | NEEDS',
    `NS | alias | q35 (${OLD}) | q35 | restart`,
    `NS | off | ${OLD} | q35 | change`,
    `NS | on | ${OLD} | q35 | change, restart`,
    matching(/^NS \| paused \| pc-q35-rhel8.6.0 \| q35 \| deferred: /),
    matching(/^NS \| stays \| pc-q35-rhel8.6.0 \| pc-q35-rhel8.6.0 \| excluded: its owner opted out of disruption$/),
    '',
    '5 VMs: 1 to change, 1 to change and restart, 1 to restart, 1 deferred, 1 excluded; 2 restarted at a time',
    '',
  ]);
  const marked = await planned(typedVms);
  expect(needsOf(marked)).toEqual([
    'alias: Wait',
    'off: Change',
    'on: ChangeAndWait',
    'paused: Deferred',
    'stays: Excluded',
  ]);
  expect(marked).toMatchObject({
    counts: { Wait: 1, Change: 1, ChangeAndWait: 1, Deferred: 1, Excluded: 1 },
    maxRestarts: 1,
    refusals: [],
    unknown: [],
  });
  expect(marked.results).toMatchObject([{ from: OLD, wanted: null, to: 'q35', vms: 3, fault: null }]);
  const off: PlannedItem = {
    namespace: typedVms.namespace,
    name: 'off',
    pool: null,
    type: OLD,
    vmiType: null,
    result: 'q35',
    need: 'Change',
    message: null,
  };
  expect(marked.items).toContainEqual(off);
  expect(needsOf(await planned(typedVms, '--only', 'stopped'))).toEqual(['off: Change']);
  expect(
    needsOf(await planned(typedVms, '--name', 'on', '--name', `${typedVms.namespace}/off`, '--exclude', 'of?')),
  ).toEqual(['on: ChangeAndWait']);
  expect((await planned(typedVms, '--to', 'pc-q35-rhel9.4.0', '--name', 'on')).items).toMatchObject([
    { result: 'pc-q35-rhel9.4.0' },
  ]);
  expect((await plan(typedVms, '-o', 'yaml')).stdout).toMatch(/^items:\n- namespace: /);
  expect(await versionsIn(typedVms.namespace)).toEqual(before);
});

test('a plan that a worker would refuse says so, and what --force would do', async () => {
  const typedVms = await TypedVms.of(fleet(), { off: { runStrategy: 'Halted' } });
  const configuration = { architectureConfiguration: { amd64: { machineType: 'pc-q35-rhel8.2.0' } } };
  await fleet().kube.patch(KubeVirts, { namespace: 'kubevirt', name: 'kubevirt' }, 'merge', {
    spec: { configuration },
  });
  try {
    const refused = await plan(typedVms);
    expect(refused.code).toBe(1);
    const cause = 'it still matches \\*rhel8\\.\\*: a preference, or the default of the cluster, brings it back';
    expect(refused.stderr).toMatch(
      new RegExp(
        `^error: it would be refused: 1 VM with ${OLD} \\(amd64\\) would get pc-q35-rhel8.2.0: ${cause}; choose another type with --to, .*\n$`,
      ),
    );
    const forced = await plan(typedVms, '--force');
    expect(forced).toMatchObject({
      code: 0,
      stderr: '',
      stdout: matching(/ excluded: it would come back as pc-q35-rhel8\.2\.0\n/),
    });
    const unknown = await plan(typedVms, '--to', 'pc-q35-rhel10.0.0');
    expect(unknown).toMatchObject({
      code: 1,
      stderr: matching(/ would get pc-q35-rhel10\.0\.0: no schedulable node has pc-q35-rhel10\.0\.0; /),
    });
    const alien = await plan(typedVms, '--to', 'virt-rhel9.2.0', '-o', 'json');
    expect(alien).toMatchObject({
      code: 1,
      stderr: matching(/ would get virt-rhel9\.2\.0: the API server refuses it: /),
    });
  } finally {
    await fleet().kube.patch(KubeVirts, { namespace: 'kubevirt', name: 'kubevirt' }, 'merge', {
      spec: { configuration: { architectureConfiguration: null } },
    });
  }
});

test('a glob that matches nothing leads to a list of the types in use, and a suggestion', async () => {
  const typedVms = await TypedVms.of(fleet(), {
    'off-1': { runStrategy: 'Halted' },
    'off-2': { runStrategy: 'Halted' },
  });
  const nothing = await machineTypes('plan', '--which-matches-glob', '*rhel-8.*', '-n', typedVms.namespace);
  expect(nothing).toMatchObject({ code: 1, stdout: '' });
  const sentence = `no VM in namespace ${typedVms.namespace} has a machine type that matches *rhel-8.*`;
  expect(nothing.stderr).toBe(`TYPE               VMS   VMIS\n${OLD}   2     0\nerror: ${sentence}\n`);
  const excluded = await plan(typedVms, '--exclude', 'off-*');
  const left = `none of the VMs that were chosen in namespace ${typedVms.namespace} has a machine type that matches ${OLD_GLOB}; 2 VMs that were not chosen have one`;
  expect(excluded).toMatchObject({ code: 1, stdout: '', stderr: `error: ${left}\n` });
  const empty = await fleet().namespace();
  expect(await machineTypes('plan', '--which-matches-glob', '*', '-n', empty)).toMatchObject({
    code: 1,
    stderr: `error: no VM in namespace ${empty} has a machine type\n`,
  });
  expect(await machineTypes('plan', '--which-matches-glob', '*', '-n', 'nobody')).toMatchObject({
    code: 1,
    stdout: '',
    stderr: 'error: there is no namespace nobody\n',
  });
});

test('a named VM that is missing is reported, whatever else was chosen', async () => {
  const typedVms = await TypedVms.of(fleet(), { off: { runStrategy: 'Halted' } });
  const named = await plan(typedVms, '--name', 'off', '--name', 'of', '--name', 'nobody/off');
  expect(named).toMatchObject({
    code: 1,
    stdout: '',
    stderr: `error: there is no VM of, nor nobody/off in namespace ${typedVms.namespace}\n`,
  });
  expect(await plan(typedVms, '--name', 'off', '--name', typedVms.key('off'), '--name', 'off')).toMatchObject({
    code: 0,
    stderr: '',
  });
});

test('VMs of another running operation are deferred, without a question to Temporal', async () => {
  const typedVms = await TypedVms.of(fleet(), { off: { runStrategy: 'Halted' }, on: {} });
  const spec = { action: 'MachineType', vms: { selector: {} }, machineType: { from: OLD_GLOB } } as const;
  const { key } = await TestOperation.make(fleet().kube, typedVms.namespace, spec, { name: 'other' });
  await typedVms.patch('on', { metadata: { labels: { [MACHINE_TYPE_RESTART_LABEL]: key.uid } } });
  await typedVms.patch('off', { metadata: { labels: { [MACHINE_TYPE_RESTART_LABEL]: 'ended' } } });
  const told = await plan(typedVms);
  expect(told).toMatchObject({ code: 0, stderr: '', stdout: matching(/ off .* change\n/) });
  expect(told.stdout).toContain(
    ` deferred: operation ${typedVms.key('other')} is changing it, until that ends or is aborted\n`,
  );
});

test('an unreachable server is reported in one sentence', async () => {
  for (const words of [['types'], ['plan', '--which-matches-glob', OLD_GLOB]]) {
    const { code, stdout, stderr } = await run(['machine-types', ...words]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^error: no cluster to talk to: [^\n]+\n$/);
  }
});
