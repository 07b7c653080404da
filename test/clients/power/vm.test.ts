import { describe, expect, test } from 'vitest';
import type { Stored } from '../../../api/objects.ts';
import { pendingAmong } from '../../../clients/power/pending.ts';
import { exclusions, runLines, shortfalls } from '../../../clients/runs/run-lines.ts';
import type { VmWithVmi } from '../../../decisions/from-object/vm-with-vmi.ts';
import type { VirtualMachine } from '../../../decisions/from-object/vm.ts';
import type { VirtualMachineInstance } from '../../../decisions/from-object/vmi.ts';
import { powerOutline, type PowerProgress } from '../../../decisions/power/progress.ts';
import { droverHere } from '../in-process.ts';

const meta = (name: string, labels: Record<string, string> = {}) => ({
  namespace: 'shop',
  name,
  uid: `uid-of-${name}`,
  resourceVersion: '1',
  creationTimestamp: '2026-01-01T00:00:00Z',
  labels,
});
const owner = (apiVersion: string) => [
  { apiVersion, kind: 'VirtualMachinePool', name: 'web', uid: 'pool', controller: true },
];
const required = (fields: object = {}): Pick<VirtualMachine, 'status'> => ({
  status: { conditions: [{ type: 'RestartRequired', status: 'True', message: 'a field was changed', ...fields }] },
});
const vmiOf = (labels: Record<string, string> = {}): Stored<VirtualMachineInstance> => ({
  metadata: meta('db', labels),
  status: { nodeName: 'node-1' },
});
const typedVmi = (type: string): Stored<VirtualMachineInstance> => ({ ...vmiOf(), status: { machine: { type } } });
const revision = (hash: string) => ({ 'drover.dev/revision': hash });

const progress = (fields: Partial<PowerProgress> = {}): PowerProgress => ({
  action: 'Restart',
  phase: 'Restarting',
  chosen: 10,
  atOnce: 1,
  maxFailures: 0,
  requestedBy: 'ada',
  reason: null,
  done: 2,
  failures: fields.failed?.length ?? 0,
  wereDown: fields.failed?.filter(({ wasDown }) => wasDown === true).length ?? 0,
  failed: [],
  inProgress: [],
  open: 0,
  needs: {},
  skipped: [],
  full: [],
  paused: null,
  aborted: null,
  ...fields,
});

const NOW = Date.parse('2026-01-01T00:03:00Z');
const linesOf = (fields: Partial<PowerProgress>): string[] => {
  const told = progress(fields);
  return runLines('power/default/a', { progress: told, outline: powerOutline(told), sentence: '' }, NOW);
};
const shortfallsOf = (fields: Partial<PowerProgress>): string[] => {
  const now = progress(fields);
  return shortfalls(now, powerOutline(now)).map(({ message }) => message);
};
const endOf = (fields: Partial<PowerProgress>): string => powerOutline(progress(fields)).end;

const one = (
  vm: Partial<Stored<VirtualMachine>>,
  vmi: Stored<VirtualMachineInstance> | null = vmiOf(),
  plugs = { migrates: true },
): ReturnType<typeof pendingAmong> =>
  pendingAmong(
    [{ vm: { metadata: meta('db'), spec: { runStrategy: 'Once' }, ...vm }, vmi: vmi ?? undefined } satisfies VmWithVmi],
    plugs,
  );

describe('the VMs that wait for a restart', () => {
  test('include those that KubeVirt reports, with or without a time and a message', () => {
    expect(one(required({ lastTransitionTime: '2026-01-02T00:00:00Z' }))).toEqual([
      {
        namespace: 'shop',
        name: 'db',
        owner: null,
        since: '2026-01-02T00:00:00Z',
        message: 'a field was changed',
        runStrategy: 'Once',
        node: 'node-1',
        optedOut: false,
        vmi: 'uid-of-db',
      },
    ]);
    expect(one(required({ lastTransitionTime: null, message: '' }))).toMatchObject([
      { since: null, message: 'KubeVirt does not say' },
    ]);
  });

  test('include those that wait for a migration, if KubeVirt makes none by itself', () => {
    const plugging = { ...vmiOf(), status: { conditions: [{ type: 'HotVCPUChange', status: 'True' as const }] } };
    expect(one({}, plugging)).toEqual([]);
    expect(one({}, plugging, { migrates: false })).toMatchObject([
      { message: 'KubeVirt needs a migration to plug it in, and starts none by itself (HotVCPUChange)' },
    ]);
  });

  test('do not include those that do not run, or do not need one', () => {
    expect(one(required(), null)).toEqual([]);
    expect(one(required({ status: 'False' }))).toEqual([]);
    expect(one({})).toEqual([]);
  });

  test('include a VMI of a drover pool that runs an older revision than the spec has', () => {
    const vm = (apiVersion: string) => ({
      metadata: { ...meta('web-1', revision('new')), ownerReferences: owner(apiVersion) },
    });
    expect(one(vm('drover.dev/v1alpha1'), vmiOf(revision('old')))).toMatchObject([
      { owner: 'VirtualMachinePool/web', since: null, message: 'its VMI runs revision old, its spec is of new' },
    ]);
    expect(one(vm('drover.dev/v1alpha1'), vmiOf(revision('new')))).toEqual([]);
    expect(one(vm('drover.dev/v1alpha1'))).toEqual([]);
    expect(one(vm('pool.kubevirt.io/v1beta1'), vmiOf(revision('old')))).toEqual([]);
  });

  test('include a VMI with the machine type that a transition replaces, though KubeVirt says nothing', () => {
    const record = { id: '1f0c92ab', from: 'q35', to: 'q35', vmiType: 'pc-q35-rhel8.2.0', at: '2026-01-01T00:00:00Z' };
    const vm = (mark: string) => ({
      metadata: {
        ...meta('db', { 'drover.dev/machine-type-restart-required': mark }),
        annotations: { 'drover.dev/machine-type-transition': JSON.stringify(record) },
      },
    });
    expect(one(vm('1f0c92ab'), typedVmi('pc-q35-rhel8.2.0'))).toMatchObject([
      { message: 'its VMI has machine type pc-q35-rhel8.2.0, which operation 1f0c92ab takes away' },
    ]);
    expect(one(vm('1f0c92ab'), typedVmi('pc-q35-rhel9.2.0'))).toEqual([]);
    expect(one(vm('0a0a0a0a'), typedVmi('pc-q35-rhel8.2.0'))).toEqual([]);
  });
});

describe('the progress of a restart', () => {
  const later = { message: 'it is paused', isExcluded: false, count: 1, vms: ['shop/vm-5'] };
  const exempt = { message: 'its owner opted out of disruption', isExcluded: true, count: 1, vms: ['shop/vm-6'] };

  test('shows a limit for a stop, and no disruption budget', () =>
    expect(linesOf({ action: 'Stop', full: ['1 at a time'] })).toContain('  the others wait: 1 at a time'));

  test('shows how far it is, and what holds it', () => {
    const lines = linesOf({ inProgress: ['shop/vm-3'], open: 5, skipped: [later, exempt], full: ['1 at a time'] });
    expect(lines[0]).toMatch(/^power\/default\/a {2}\S+ 2\/10 restarted, 1 in progress, 5 to go: Restarting$/);
    expect(lines.slice(1)).toEqual([
      '  in progress: shop/vm-3',
      '  the others wait: 1 at a time',
      '  deferred: shop/vm-5: it is paused',
      '  excluded: shop/vm-6: its owner opted out of disruption',
      '  Restart of 10 VMs, 1 at a time; requested by ada',
    ]);
    const paused = { by: 'bob', at: '2026-01-01T00:00:00Z', reason: 'lunch' };
    expect(linesOf({ phase: 'Paused', paused, open: 8 }).slice(0, 2)).toEqual([
      expect.stringMatching(/8 to go: Paused$/),
      '  paused by bob 3m ago: lunch',
    ]);
  });

  test('shows all VMs as still to do before its first look', () => {
    const begun = { done: 0, open: 0 };
    const line = (fields: Partial<PowerProgress>): string | undefined => linesOf({ ...begun, ...fields })[0];
    expect(line({})).toMatch(/ 0\/10 restarted, 10 to go: Restarting$/);
    expect(line({ skipped: [later] })).toMatch(/ 0\/10 restarted: Restarting$/);
    expect(line({ phase: 'Complete' })).toMatch(/ 0\/10 restarted: Complete$/);
  });

  test('shows its end, without anything that was not done', () => {
    expect(endOf({ phase: 'Complete', skipped: [exempt] })).toBe(
      '2 of 10 VMs restarted; nothing to do for 7: stopped, deleted, or restarted meanwhile',
    );
    expect(shortfallsOf({ phase: 'Complete', skipped: [exempt] })).toEqual([]);
    expect(exclusions(progress({ skipped: [later, exempt] }))).toEqual([
      'excluded: shop/vm-6: its owner opted out of disruption',
    ]);
  });

  test('shows a start and a stop in words of their own', () => {
    const starting = { action: 'Start', phase: 'Starting', inProgress: ['shop/vm-3'], open: 7 } as const;
    const lines = linesOf({ ...starting, inProgress: [...starting.inProgress] });
    expect(lines[0]).toMatch(/ 2\/10 started, 1 in progress, 7 to go: Starting$/);
    expect(lines[1]).toBe('  in progress: shop/vm-3');
    expect(endOf({ action: 'Start', phase: 'Complete' })).toBe(
      '2 of 10 VMs started; nothing to do for 8: they were already running, are deleted, or were stopped meanwhile',
    );
    const stopped = { action: 'Stop', phase: 'Complete', chosen: 2 } as const;
    expect(linesOf(stopped)[0]).toMatch(/ 2\/2 stopped: Complete$/);
    expect(endOf(stopped)).toBe('2 of 2 VMs stopped');
  });

  test.each<[string, Partial<PowerProgress>, string[]]>([
    ['left', { phase: 'Complete', open: 1, skipped: [later, exempt] }, ['1 VM is not done: shop/vm-5: it is paused']],
    [
      'no room',
      { phase: 'Complete', open: 2, full: ['1 at a time', 'shop/vm-9 not ready'] },
      ['2 VMs are not done: 1 at a time, shop/vm-9 not ready'],
    ],
    [
      'aborted',
      { phase: 'Aborted', open: 4, aborted: { by: 'bob', at: '', reason: null } },
      ['4 VMs are not done: the run was aborted by bob'],
    ],
    [
      'failed',
      { phase: 'Failed', open: 4, failed: [{ vm: 'shop/vm-3', message: 'not ready in time' }] },
      ['shop/vm-3 failed: not ready in time', '4 VMs are not done: too many have failed (--max-failures 0)'],
    ],
    [
      'failed, and was down before',
      { phase: 'Failed', failed: [{ vm: 'shop/vm-3', message: 'not ready in time', wasDown: true }] },
      ['shop/vm-3 failed, and was not ready before: not ready in time'],
    ],
  ])('%s', (_words, fields, sentences) => {
    expect(shortfallsOf(fields)).toEqual(sentences);
  });
});

const AT_ONCE = "option '--at-once <n>' argument";
const BUDGET = "option '--max-unavailable <n>' argument";
test.each([
  [['restart'], 'specify VMs by name, --pool, --owner or -l, or --pending for all that wait for a restart'],
  [['restart', '-A'], 'specify VMs by name, --pool, --owner or -l, or --pending for all that wait for a restart'],
  [['restart', 'db', '-A'], 'give names or -A, not both'],
  [['restart', 'db', '--pending'], 'give names or --pending, not both'],
  [['start'], 'specify VMs by name, --pool, --owner or -l'],
  [['stop', '-A'], 'specify VMs by name, --pool, --owner or -l'],
  [['stop', 'db', '-l', 'tier=spare'], 'give names or -l, not both'],
  [['start', 'web-1', '--pool', 'web'], 'give names or --pool, not both'],
  [['stop', '--pool', 'web', '-A'], 'a pool is looked for in one namespace: leave out -A or its name'],
  [['stop', '--pool', 'web', '--owner', 'vmrs/web'], 'give --pool or --owner, not both'],
  [['stop', '--owner', 'web'], '--owner: "web" is not KIND/NAME, such as vmrs/runners'],
  [['stop', '--owner', 'dvmirs/web'], '"dvmirs" is a VMI replica set, and this command takes pool or vmrs'],

  [['start', '--pending'], "unknown option '--pending'"],
  [
    ['start', 'db', '--at-once', '0'],
    `${AT_ONCE} '0' is invalid. Give a whole number from 1, or a percentage such as 5%.`,
  ],
  [
    ['restart', 'db', '--max-unavailable', '0'],
    `${BUDGET} '0' is invalid. Give a whole number from 1, or a percentage such as 5%.`,
  ],
  [
    ['restart', 'db', '--max-unavailable', '120%'],
    `${BUDGET} '120%' is invalid. Give a whole number from 1, or a percentage such as 5%.`,
  ],
  [
    ['migrate'],
    'specify VMs by name, --pool, --owner or -l, or --outdated for all that run in a pod of an earlier KubeVirt',
  ],
  [['migrate', 'db', '--outdated'], 'give names or --outdated, not both'],
  [['stop', 'db', '--time-zone', 'UTC'], '--time-zone needs --schedule'],
  [['stop', 'db', '--name', 'night'], '--name needs --schedule'],
  [
    ['stop', '-A', '-l', 'a=b', '--schedule', '0 20 * * *'],
    'a schedule is for the VMs of one namespace: give -n instead of -A',
  ],
  [['stop', '--schedule', '0 20 * * *'], 'specify VMs by name, --pool, --owner or -l'],
  [
    ['stop', 'db', '--schedule', '0 25 * * *'],
    '--schedule "0 25 * * *": hour 25 is not understood: write 0 to 23, a list (2,4), a rising range (2-4) or a step (*/2)',
  ],
  [
    ['stop', 'db', '--schedule', '0 20 * * *', '--time-zone', 'Europe/Zurick'],
    '--time-zone: Europe/Zurick is not a time zone; did you mean Europe/Zurich?',
  ],
])('vm %s is wrong usage', async (words, sentence) => {
  const { code, stdout, stderr } = await droverHere(['vm', ...words]);
  expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: `error: ${sentence}\n` });
});
