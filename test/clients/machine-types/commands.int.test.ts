import { Client } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { MACHINE_TYPE_TRANSITION_ANNOTATION } from '../../../api/names.ts';
import { VirtualMachines } from '../../../api/resources.ts';
import type { Report } from '../../../clients/machine-types/print-report.ts';
import type { ListedTransition } from '../../../clients/machine-types/run-kind.ts';
import type { PendingVm } from '../../../clients/power/pending.ts';
import type { ListedRun } from '../../../clients/runs/list.ts';
import { aboutSetup } from '../../../clients/session/temporal.ts';
import type { TransitionRecord } from '../../../decisions/annotations/transition-record.ts';
import type { Act } from '../../../decisions/history/act.ts';
import type { TransitionProgress } from '../../../decisions/machine-types/transition.ts';
import { taskQueueOf, transitionProgress } from '../../../workflows/lib/messages.ts';
import type { MachineTypeTransitionInput } from '../../../workflows/machine-types/machine-type-transition.ts';
import { needs } from '../../cluster/given/needs.ts';
import { aFleet, neverReady, runningTemplate, until, type TestWorker } from '../../integration/fleet.ts';
import { TypedVms, NEW, OLD, OLD_GLOB, setAlias } from '../../integration/machine-types/machine-types.ts';
import { testOneOf } from '../../soak.ts';
import { follow, nowhere, outcomeOf, start, type Outcome } from '../drover.ts';
import { droverHere as run } from '../in-process.ts';

const fleet = aFleet();
let worker: TestWorker;
beforeAll(async () => {
  worker = await fleet().worker();
});

const env = (): NodeJS.ProcessEnv => ({ ...nowhere, ...fleet().stack.env, DROVER_REQUESTED_BY: 'ada@desk' });
const drover = (...words: string[]): Promise<Outcome> => run(words, env());
const machineTypes = (...words: string[]): Promise<Outcome> => drover('machine-types', ...words);
/** Updates the VMs of one namespace that have an old type. */
const update = ({ namespace }: TypedVms, ...words: string[]): Promise<Outcome> =>
  machineTypes('update', '--which-matches-glob', OLD_GLOB, '-n', namespace, ...words);

const WHOLE_ID = /machine-types\/default\/[0-9a-f]{8}/;
/** Returns the whole id of the transition in the output, and terminates that transition after the test. */
function idIn({ stdout }: { stdout: string }): string {
  const [id] = WHOLE_ID.exec(stdout)!;
  const { workflow } = fleet().temporal.client;
  onTestFinished(() =>
    workflow
      .getHandle(id)
      .terminate()
      .then(
        () => undefined,
        () => undefined,
      ),
  );
  return id;
}
const lastPart = (id: string): string => id.slice(-8);
const progressOf = (id: string): Promise<TransitionProgress> =>
  fleet().temporal.client.workflow.getHandle(id).query(transitionProgress);
/** Resolves when Temporal lists the transition with this status: its lists lag a little. */
const waitUntilListed = (id: string, status: string): Promise<void> =>
  until(async () => {
    const query = `WorkflowId = '${id}' AND ExecutionStatus = '${status}'`;
    expect((await fleet().temporal.client.workflow.count(query)).count).toBe(1);
  });
const listed = async (id: string): Promise<(ListedRun & ListedTransition) | undefined> =>
  (
    JSON.parse((await machineTypes('list', '-o', 'json')).stdout) as { items: (ListedRun & ListedTransition)[] }
  ).items.find((one) => one.id === id);
const transitionsBegun = async (): Promise<number> =>
  (await fleet().temporal.client.workflow.count("WorkflowType = 'machineTypeTransition'")).count;
const reportOf = async (id: string): Promise<Report> =>
  JSON.parse((await machineTypes('report', id, '-o', 'json')).stdout) as Report;
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
    id = idIn(done);
    expect(done).toMatchObject({ code: 0, stderr: '' });
    expect(done.stdout).toMatch(
      new RegExp(`^${id} begun: 3 VMs, \\*rhel8\\.\\* to the default, VMIs restarted by drover\n`),
    );
    expect(done.stdout).toMatch(
      /█{20} 3\/3 done: Complete\n.*; requested by ada@desk: RHEL 10\n( {2}pc.* becomes q35 .*\n)+\n3 of 3 VMs done: 3 changed, 2 restarted by drover\n$/,
    );
    expect(await Promise.all(['db-1', 'db-2', 'off', 'new'].map((name) => typedVms.type(name)))).toEqual([
      'q35',
      'q35',
      'q35',
      NEW,
    ]);
    const { events } = await fleet().temporal.client.workflow.getHandle(id).fetchHistory();
    const [payload] = events![0]!.workflowExecutionStartedEventAttributes!.input!.payloads!;
    const input = defaultPayloadConverter.fromPayload<MachineTypeTransitionInput>(payload!);
    // The worker need not read again what the command has read.
    expect(input.minVersions).toEqual({ vms: matching(/^\d+$/), vmis: matching(/^\d+$/) });
    const after = await typedVms.vmis();
    expect(Object.keys(after).filter((name) => after[name] !== before[name])).toEqual(['db-1', 'db-2']);
    expect((await typedVms.vm('db-2')).spec).toMatchObject({ runStrategy: 'Once' });
  });

  test('is listed with its phase, and told when it is over', async () => {
    await waitUntilListed(id, 'Completed');
    expect(await listed(id)).toMatchObject({
      phase: 'Complete',
      glob: OLD_GLOB,
      to: null,
      restartNow: true,
      requestedBy: 'ada@desk',
      reason: 'RHEL 10',
    });
    const row = `${id} +Complete +\\*rhel8\\.\\* +<default> +drover +\\S+ +ada@desk +RHEL 10\n`;
    expect((await machineTypes('list')).stdout).toMatch(
      new RegExp(`^ID +PHASE +GLOB +TO +RESTARTED BY +AGE +REQUESTED BY +REASON\n(.*\n)*${row}`),
    );
    expect(await machineTypes('status', lastPart(id), '--watch')).toMatchObject({
      code: 0,
      stderr: '',
      stdout: matching(/ 3\/3 done: Complete\n[^]*\n3 of 3 VMs done: 3 changed, 2 restarted by drover\n$/),
    });
    const over = `error: no run ${id} is in progress: \`drover machine-types list\` lists the runs that there are\n`;
    expect(await machineTypes('pause', id)).toMatchObject({ code: 1, stderr: over });
  });

  test('is reported for a spreadsheet and a program', async () => {
    const rows = ['db-1', 'db-2'].map((name) => `${typedVms.namespace},${name},${OLD},q35,${OLD},Done,`);
    const csv = [
      'namespace,name,from,to,VMI type before,state,why',
      ...rows,
      `${typedVms.namespace},off,${OLD},q35,,Done,`,
      '',
    ].join('\n');
    expect(await machineTypes('report', id, '-o', 'csv')).toMatchObject({ code: 0, stderr: '', stdout: csv });
    const row = {
      namespace: typedVms.namespace,
      name: 'db-1',
      from: OLD,
      to: 'q35',
      vmiTypeBefore: OLD,
      state: 'Done',
      why: null,
    };
    const report = await reportOf(id);
    expect(report).toMatchObject({ id, phase: 'Complete', transition: { reason: 'RHEL 10' } });
    expect(report.items).toContainEqual(row);
  });

  test('is in the history of each of its VMs', async () => {
    const { code, stdout } = await drover('history', 'vm', 'db-1', '-n', typedVms.namespace, '-o', 'json');
    expect(code).toBe(0);
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
      ['machine type', 'db-1', OLD, 'q35', 'Done', 'ada@desk', id],
      ['restart', 'db-1', null, null, 'Restarted', 'ada@desk', id],
    ]);
  });

  test('is planned to be undone, and nothing is written by that', async () => {
    await typedVms.setType('off', NEW);
    const before = [
      await typedVms.vmis(),
      await typedVms.record('db-1'),
      (await typedVms.vm('db-1')).metadata.resourceVersion,
    ];
    const begun = await transitionsBegun();
    const dry = await machineTypes('undo', lastPart(id), '--restart-now', '--max-restarts', '1', '--dry-run');
    expect(dry).toMatchObject({ code: 0, stderr: '' });
    expect(
      dry.stdout.split('\n').map((row) => row.replaceAll(/ {3,}/g, ' | ').replace(typedVms.namespace, 'NS')),
    ).toEqual([
      'NAMESPACE | NAME | TYPE | RESULT | NEEDS',
      `NS | db-1 | q35 | ${OLD} | change, restart`,
      `NS | db-2 | q35 | ${OLD} | change, restart`,
      `NS | off | ${NEW} | ${NEW} | excluded: somebody has set its machine type to ${NEW} since`,
      '',
      '3 VMs: 2 to change and restart, 1 excluded; 1 restarted at a time',
      '',
    ]);
    expect([
      await typedVms.vmis(),
      await typedVms.record('db-1'),
      (await typedVms.vm('db-1')).metadata.resourceVersion,
    ]).toEqual(before);
    expect(await transitionsBegun()).toBe(begun);
  });

  test('is undone, but for a VM that somebody has changed since', async () => {
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
          `^${undo} begun: 3 VMs, undo of ${lastPart(id)}, VMIs restarted by drover\n[^]*\n2 of 2 VMs done: 2 changed, 2 restarted by drover\n$`,
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
    const again = (await reportOf(id)).items.filter(({ name }) => name === 'db-1');
    expect(again).toMatchObject([
      { to: 'q35', state: 'ChangedSince', why: `transition ${lastPart(undo)} has changed it since` },
    ]);
    await typedVms.remove('db-1');
    const { items } = await reportOf(undo);
    expect(items.filter(({ name }) => name.startsWith('db-'))).toMatchObject([
      { name: 'db-2', from: 'q35', to: OLD, state: 'Done' },
      { name: 'db-1', state: 'Gone', why: 'it is not there any more' },
    ]);
    expect(await machineTypes('report', id, '-n', 'elsewhere')).toMatchObject({
      code: 0,
      stdout: '',
      stderr: `${id} has changed no VM in namespace elsewhere\n`,
    });
  });
});

describe('VMs of two namespaces, some with a label', () => {
  let here: TypedVms;
  let there: TypedVms;
  const NAMES = ['web', 'web-off', 'db', 'db-off'];
  const typesIn = (typedVms: TypedVms): Promise<(string | undefined)[]> =>
    Promise.all(NAMES.map((name) => typedVms.type(name)));
  const marksIn = (typedVms: TypedVms): Promise<(string | undefined)[]> =>
    Promise.all(NAMES.map((name) => typedVms.mark(name)));
  /** Different from the labels of all other tests, as this test selects in all namespaces. */
  const labels = { tier: 'web-in-two-namespaces' };
  const selector = `tier=${labels.tier}`;
  const glob = ['--which-matches-glob', OLD_GLOB];
  beforeAll(async () => {
    const off = { runStrategy: 'Halted' };
    const shapes = { web: { labels }, 'web-off': { labels, ...off }, db: {}, 'db-off': off };
    [here, there] = await Promise.all([TypedVms.of(fleet(), shapes), TypedVms.of(fleet(), shapes)]);
  });

  test('all flags in one change and restart what all of them choose', async () => {
    const [before, others] = [await here.vmis(), await there.vmis()];
    const flags = ['--namespace', here.namespace, '--label-selector', selector, '--restart-now'];
    const done = await machineTypes('update', ...glob, ...flags);
    idIn(done);
    expect(done).toMatchObject({ code: 0, stdout: matching(/\n2 of 2 VMs done: 2 changed, 1 restarted by drover\n$/) });
    expect(await typesIn(here)).toEqual(['q35', 'q35', OLD, OLD]);
    expect(await marksIn(here)).toEqual([undefined, undefined, undefined, undefined]);
    const after = await here.vmis();
    expect(Object.keys(after).filter((name) => after[name] !== before[name])).toEqual(['web']);
    expect((await here.vmi('web'))?.status?.machine?.type).toBe(NEW);
    expect([await typesIn(there), await there.vmis()]).toEqual([[OLD, OLD, OLD, OLD], others]);
  });

  testOneOf({
    '--label-selector chooses in all namespaces, and only what runs is marked': async () => {
      needs('a worker that writes in all namespaces');
      const id = idIn(await machineTypes('update', ...glob, '--label-selector', selector));
      expect(await typesIn(there)).toEqual(['q35', 'q35', OLD, OLD]);
      expect(await marksIn(there)).toEqual([lastPart(id), undefined, undefined, undefined]);
      expect(await typesIn(here)).toEqual(['q35', 'q35', OLD, OLD]);
      expect(await marksIn(here)).toEqual([undefined, undefined, undefined, undefined]);
    },
    '--namespace leaves the VMs of the other one as they are, and only what runs is marked': async () => {
      const id = idIn(await machineTypes('update', ...glob, '--namespace', there.namespace));
      expect(await typesIn(there)).toEqual(['q35', 'q35', 'q35', 'q35']);
      expect((await marksIn(there)).slice(2)).toEqual([lastPart(id), undefined]);
      expect(await typesIn(here)).toEqual(['q35', 'q35', OLD, OLD]);
      expect(await marksIn(here)).toEqual([undefined, undefined, undefined, undefined]);
    },
  });
});

test('without --restart-now it is followed until all is changed, and goes on until the owners have restarted their VMIs', async () => {
  await setAlias(fleet(), OLD);
  const typedVms = await TypedVms.of(fleet(), { alias: { type: 'q35' }, db: {}, off: { runStrategy: 'Halted' } });
  await setAlias(fleet(), NEW);
  const begun = await update(typedVms);
  const id = idIn(begun);
  expect(begun.code).toBe(0);
  expect(begun.stdout).toMatch(/\n1 of 3 VMs done: \d changed by drover; 2 waiting for a restart by their owners\n$/);
  const label = `drover.dev/machine-type-restart-required=${lastPart(id)}`;
  const how = `\`drover machine-types status ${id} --watch\` shows it, \`drover machine-types abort ${id}\` ends it`;
  expect(begun.stderr).toBe(
    `${id} goes on until they are done: \`drover vm pending -A -l ${label}\` lists the VMs that wait for a restart (not a reboot inside the guest), ${how}\n`,
  );
  expect((await reportOf(id)).items.map(({ name, state, why }) => [name, state, why])).toEqual([
    ['alias', 'Waiting', `its VMI still has ${OLD}`],
    ['db', 'Waiting', `its VMI still has ${OLD}`],
    ['off', 'Done', null],
  ]);
  const { items } = JSON.parse((await drover('vm', 'pending', '-A', '-l', label, '-o', 'json')).stdout) as {
    items: PendingVm[];
  };
  expect(items.map(({ name }) => name)).toEqual(['alias', 'db']);
  expect(items[0]!.why).toBe(`its VMI has machine type ${OLD}, which transition ${lastPart(id)} takes away`);
  const watching = machineTypes('status', id, '--watch');
  expect(await drover('vm', 'restart', '--pending', '-A', '-l', label, '--max-unavailable', '100%')).toMatchObject({
    code: 0,
  });
  expect(await watching).toMatchObject({
    code: 0,
    stderr: '',
    stdout: matching(/ 3\/3 done: Complete\n[^]*\n3 of 3 VMs done: \d changed by drover\n$/),
  });
});

test('a pool is changed by its template, and its VMs are told by their pool', async () => {
  const typedVms = await TypedVms.empty(fleet());
  const { namespace } = typedVms;
  const template = structuredClone(runningTemplate);
  template.spec.template = {
    ...(template.spec.template as object),
    spec: { domain: { devices: {}, machine: { type: OLD }, memory: { guest: '64Mi' } } },
  };
  await fleet().createPool(namespace, 'web', { replicas: 2, template });
  await typedVms.ready(['web-1', 'web-2']);
  const done = await update(typedVms, '--restart-now', '--reason', 'RHEL 10');
  const id = idIn(done);
  const restarts = `A pool changes its VMs by its own update strategy, within its own budget, and may restart them: ${namespace}/web\n`;
  expect(done).toMatchObject({
    code: 0,
    stderr: restarts,
    stdout: matching(/ begun: 2 VMs, [^]*\n2 of 2 VMs done: 0 changed by drover\n$/),
  });
  expect((await reportOf(id)).items).toEqual(
    ['web-1', 'web-2'].map((name) => ({
      namespace,
      name,
      from: OLD,
      to: 'q35',
      vmiTypeBefore: null,
      state: 'Done',
      why: 'rolled by pool web',
    })),
  );
  // Temporal's lists lag a little.
  await until(async () => {
    const told = JSON.parse((await drover('history', 'pool', 'web', '-n', namespace, '-o', 'json')).stdout) as Act[];
    expect(told).toContainEqual(
      expect.objectContaining({
        action: 'machine type',
        vms: [],
        from: OLD,
        to: 'default',
        end: 'Done',
        requestedBy: 'ada@desk',
        workflow: id,
      }),
    );
    // The resulting rollout names the person who asked, too.
    const rolled = told.filter(({ action, vms }) => action === 'restart' && vms.length > 0);
    expect(new Set(rolled.map(({ requestedBy }) => requestedBy))).toEqual(new Set(['ada@desk']));
  });
  expect((await drover('rollout', 'history', 'pool', 'web', '-n', namespace)).stdout).toContain(
    `machine type transition ${lastPart(id)}: RHEL 10`,
  );
});

describe('one that goes on', () => {
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
    const how = `\`drover machine-types status ${id} --watch\` shows it, \`drover machine-types abort ${id}\` ends it`;
    expect({ code, stderr }).toEqual({ code: 130, stderr: `\n${id} goes on: ${how}\n` });
    await fleet().letBecomeReady(typedVms.key('db'));
    expect(await machineTypes('status', id, '--watch')).toMatchObject({
      code: 0,
      stdout: matching(/\n1 of 1 VM done: 1 changed, 1 restarted by drover\n$/),
    });
  });

  testOneOf({
    'is told as ended if somebody has terminated it': async () => {
      const typedVms = await TypedVms.of(fleet(), { db: {} });
      const transition = await typedVms.change();
      const id = transition.handle.workflowId;
      await transition.until({ phase: 'Waiting' });
      await transition.handle.terminate('by hand');
      const ended = 'ended from outside (terminated): nothing of it goes on, and what it has marked stays marked';
      expect(await machineTypes('status', id)).toMatchObject({
        code: 0,
        stdout: matching(new RegExp(`\n {2}${ended.replace(/[()]/g, '\\$&')}\n`)),
      });
      expect(JSON.parse((await machineTypes('status', id, '-o', 'json')).stdout)).toMatchObject({
        ended,
        recentErrors: [],
      });
      expect(await machineTypes('status', id, '--watch')).toMatchObject({
        code: 1,
        stderr: matching(new RegExp(`^error: ${id} was ended from outside: [^\n]*\n$`)),
      });
      await waitUntilListed(id, 'Terminated');
      expect(await listed(id)).toMatchObject({ phase: 'Terminated' });
      const report = await machineTypes('report', id, '-o', 'json');
      expect(report).toMatchObject({ code: 0, stderr: `${id} was ${ended}\n` });
      expect(JSON.parse(report.stdout)).toMatchObject({ phase: null, items: [{ name: 'db', state: 'Waiting' }] });
    },
    'nothing happens without a worker, and that is said': async () => {
      const typedVms = await TypedVms.of(fleet(), { off: { runStrategy: 'Halted' } });
      const words = `no drover worker polls the task queue ${taskQueueOf('other')}: nothing happens until one does; \`drover worker\` starts one\n`;
      const begun = await update(typedVms, '--cluster', 'other', '--no-wait');
      const { workflow } = fleet().temporal.client;
      const end = (id: string): Promise<unknown> => workflow.getHandle(id).terminate();
      const [first] = /machine-types\/other\/\w+/.exec(begun.stdout)!;
      expect(begun).toMatchObject({ code: 0, stderr: words });
      expect(await machineTypes('status', first, '--cluster', 'other')).toMatchObject({
        code: 1,
        stderr: `error: ${words}`,
      });
      await end(first);
      const child = start(
        ['machine-types', 'update', '--which-matches-glob', OLD_GLOB, '-n', typedVms.namespace, '--cluster', 'other'],
        env(),
      );
      const outcome = outcomeOf(child);
      await follow(child.stderr!)(words);
      child.kill('SIGINT');
      const { code, stdout } = await outcome;
      expect(code).toBe(130);
      await end(/machine-types\/other\/\w+/.exec(stdout)![0]);
      expect(await typedVms.type('off')).toBe(OLD);
    },
  });

  test('is begun without waiting, paused, resumed and aborted, each with who and why', async () => {
    const typedVms = await TypedVms.of(fleet(), { 'db-1': {}, 'db-2': {} });
    const begun = await update(typedVms, '--no-wait');
    const id = idIn(begun);
    expect(begun).toMatchObject({
      code: 0,
      stderr: '',
      stdout: `${id} begun: 2 VMs, *rhel8.* to the default, VMIs restarted by their owners\n`,
    });
    await until(async () => expect((await progressOf(id)).phase).toBe('Waiting'));
    // The id may be left out if exactly one transition runs.
    await waitUntilListed(id, 'Running');
    expect(await machineTypes('pause', '--reason', 'lunch')).toMatchObject({
      code: 0,
      stdout: `${id} paused\n`,
      stderr: '',
    });
    await until(async () =>
      expect(await progressOf(id)).toMatchObject({ phase: 'Paused', paused: { by: 'ada@desk', why: 'lunch' } }),
    );
    await typedVms.add('db-3');
    expect((await machineTypes('status')).stdout).toMatch(/: Paused\n {2}paused by ada@desk: lunch\n/);
    expect(await machineTypes('resume', id)).toMatchObject({ code: 0, stdout: `${id} resumed\n` });
    await until(async () => expect(await typedVms.type('db-3')).toBe('q35'));
    const refused = await machineTypes('undo', id, '--no-wait');
    expect(refused).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `error: ${id} still runs, and would change again what is undone: \`drover machine-types abort ${id}\` ends it\n`,
    });
    const watching = machineTypes('status', id, '--watch');
    expect(await machineTypes('abort', lastPart(id), '--reason', 'enough')).toMatchObject({
      code: 0,
      stdout: `${id} aborted\n`,
    });
    expect(await watching).toMatchObject({
      code: 1,
      stderr: `error: 3 VMs are not done: the run was aborted by ada@desk: enough\n`,
    });
    expect((await reportOf(id)).items[0]).toMatchObject({
      name: 'db-1',
      state: 'Waiting',
      why: `its VMI still has ${OLD}, and nobody waits for its restart any more`,
    });
  });

  test('keeps another off its VMs, which is told so', async () => {
    const typedVms = await TypedVms.of(fleet(), { db: {} });
    const transition = await typedVms.change();
    const first = transition.handle.workflowId;
    await transition.until({ phase: 'Waiting' });
    const second = await update(typedVms, '--restart-now', '--no-wait');
    const id = idIn(second);
    expect(second).toMatchObject({
      code: 0,
      stderr: `deferred: ${typedVms.key('db')}: ${first} is at work on it, until that ends, or \`drover machine-types abort ${lastPart(first)}\` ends it\n`,
    });
    await until(async () => expect((await progressOf(id)).phase).toBe('Waiting'));
    expect((await machineTypes('status', id)).stdout).toMatch(
      new RegExp(` 0/1 done, 1 deferred: Waiting\n {2}deferred: ${typedVms.key('db')}: .*${lastPart(first)}`),
    );
    const which = /^error: 2 machine type transitions run, say which: machine-types\S+, machine-types\S+\n$/;
    for (const one of [first, id]) await waitUntilListed(one, 'Running');
    expect(await machineTypes('pause')).toMatchObject({ code: 1, stderr: matching(which) });
    expect((await reportOf(id)).items).toMatchObject([{ name: 'db', state: 'Deferred' }]);
  });
});

describe("what can't be done", () => {
  test('is refused in a sentence before anything is changed', async () => {
    needs('machine types on nodes');
    const typedVms = await TypedVms.of(fleet(), { off: { runStrategy: 'Halted' } });
    const refused = await update(typedVms, '--to', 'pc-q35-rhel9.9.9');
    const id = idIn(refused);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/^error: refused: .*pc-q35-rhel9\.9\.9.*\n$/);
    expect(await typedVms.type('off')).toBe(OLD);
    await waitUntilListed(id, 'Failed');
    expect(await listed(id)).toMatchObject({ phase: 'Refused', to: 'pc-q35-rhel9.9.9' });
    expect(await machineTypes('status', id)).toMatchObject({
      code: 0,
      stdout: matching(/ Refused\n {2}refused: .*pc-q35-rhel9\.9\.9/),
    });
  });

  test('is told if Temporal is not set up, and nothing is changed', async () => {
    const typedVms = await TypedVms.of(fleet(), { off: { runStrategy: 'Halted' } });
    const { connection } = fleet().temporal;
    const namespace = `bare-${typedVms.namespace}`;
    const { config } = await connection.workflowService.describeNamespace({ namespace: 'default' });
    await connection.workflowService.registerNamespace({
      namespace,
      workflowExecutionRetentionPeriod: config!.workflowExecutionRetentionTtl!,
    });
    const elsewhere = ['--temporal-namespace', namespace];
    const words = "error: Temporal does not know drover's search attributes: run `drover setup` first\n";
    // Temporal's servers need a moment to learn of the namespace.
    const { workflow } = new Client({ connection, namespace });
    await until(async () => {
      const refusal = await workflow.count("DroverCluster = 'default'").catch(aboutSetup);
      expect(words).toBe(`error: ${(refusal as Error).message}\n`);
    });
    expect(await machineTypes('list', ...elsewhere)).toMatchObject({ code: 1, stdout: '', stderr: words });
    expect(await update(typedVms, ...elsewhere)).toMatchObject({ code: 1, stdout: '', stderr: words });
    expect(await typedVms.type('off')).toBe(OLD);
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
    expect(dry.stdout).not.toMatch(WHOLE_ID);
    expect(await typedVms.record('off')).toBeUndefined();
    expect(await machineTypes('undo', '00000000')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'error: no VM carries anything of 00000000: `drover machine-types list` lists the transitions\n',
    });
  });

  test('a VM that does not come back fails it', async () => {
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
    expect(items.filter(({ state }) => state === 'Failed')).toMatchObject([{ why: matching(/not ready in time/) }]);
  });
});

test('what is tried in vain is reported, until it can be done', async () => {
  const typedVms = await TypedVms.of(fleet(), { off: { runStrategy: 'Halted' } });
  const allow = await deafen(typedVms.namespace);
  const { handle } = await typedVms.change();
  const id = handle.workflowId;
  const problem =
    /the check before the first change has failed \d+ times, and is tried again: .*failed calling webhook/;
  await until(async () => {
    const { raw } = await handle.describe();
    expect(raw.pendingActivities?.[0]?.attempt).toBeGreaterThan(3);
  });
  const { recentErrors } = JSON.parse((await machineTypes('status', id, '-o', 'json')).stdout) as {
    recentErrors: string[];
  };
  expect(recentErrors).toEqual([matching(problem)]);
  const watching = machineTypes('status', id, '--watch');
  await allow();
  expect(await watching).toMatchObject({ code: 0, stdout: matching(/\n1 of 1 VM done: 1 changed by drover\n$/) });
  expect((await machineTypes('status', id)).stdout).not.toContain('tried again');
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

test('an update whose workflow Temporal has forgotten is reported by what the VMs carry of it', async () => {
  const record: TransitionRecord = { id: '0badcafe', from: OLD, to: 'q35', vmiType: null, at: '2026-01-02T03:04:05Z' };
  const annotations = { [MACHINE_TYPE_TRANSITION_ANNOTATION]: JSON.stringify(record) };
  const typedVms = await TypedVms.of(fleet(), { off: { runStrategy: 'Halted', type: 'q35', annotations } });
  expect(await machineTypes('report', record.id, '-o', 'csv')).toMatchObject({
    code: 0,
    stderr: `there is no machine-types/default/${record.id}: what failed or was skipped is not known\n`,
    stdout: matching(new RegExp(`\n${typedVms.namespace},off,${OLD},q35,,Done,\n$`)),
  });
  const none = await machineTypes('report', '00000000');
  expect(none).toMatchObject({
    code: 1,
    stderr: 'error: there is no machine-types/default/00000000, and no VM carries anything of it\n',
  });
});

// The last test: it kills the worker.
test('one that is over is told of without a worker', async () => {
  needs('machine types on nodes');
  const typedVms = await TypedVms.of(fleet(), { off: { runStrategy: 'Halted' } });
  const transition = await typedVms.change();
  await transition.result();
  await typedVms.add('db', { runStrategy: 'Halted' });
  const other = await typedVms.change({ to: 'pc-q35-rhel9.9.9' });
  await other.refusal();
  const [id, refused] = [transition, other].map(({ handle }) => handle.workflowId) as [string, string];
  await worker.kill();
  expect(await machineTypes('status', refused)).toMatchObject({
    code: 1,
    stderr: matching(/^error: refused: .*pc-q35-rhel9\.9\.9/),
  });
  expect(await machineTypes('status', id)).toMatchObject({ code: 0, stdout: matching(/ 1\/1 done: Complete\n/) });
});
