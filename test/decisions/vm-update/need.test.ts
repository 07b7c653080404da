import { describe, expect, test } from 'vitest';
import type { Disruption } from '../../../api/pool/pool.ts';
import type { UpdateAct } from '../../../decisions/owners/batch.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import type { PoolTemplate } from '../../../decisions/template/template.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { updateNeed, type RolloutTarget, type UpdateNeed } from '../../../decisions/vm-update/need.ts';
import { aVmi, BY_USER, SNAPSHOT } from '../fixtures/fleets.ts';
import {
  aTemplate,
  HALTED,
  NEW,
  NEW_TEMPLATE,
  OLD,
  OLD_TEMPLATE,
  old,
  type TemplateFields,
} from '../fixtures/rollout-pools.ts';

/** A VM with the template `from`, in a pool whose template is `to`. */
interface Case {
  from?: TemplateFields;
  to: TemplateFields;
  limit?: Disruption | null;
  strategy?: RolloutTarget['strategy'];
  clusterStrategy?: RolloutTarget['strategy'];
  vm?: Partial<VmView>;
  /** Null: no VMI. */
  vmi?: Partial<VmiView> | null;
}

const ROOM = { cpu: { sockets: 1, maxSockets: 4, current: 1 } };

function need({
  from = {},
  to,
  limit = 'Restart',
  strategy = 'LiveUpdate',
  clusterStrategy = strategy,
  vm: fields = {},
  vmi = {},
}: Case): UpdateNeed {
  const templates = [from, to].map(aTemplate);
  const [before, template] = [templates[0]!, templates[1]!];
  const byRevision = new Map(templates.map((one) => [revisionOf(one), one]));
  const vm = old(1, { revision: revisionOf(before), runStrategy: from.runStrategy ?? 'Always', ...fields });
  const target = {
    revision: revisionOf(template),
    template,
    templateOf: (revision: string) => byRevision.get(revision),
    strategy,
    clusterStrategy,
    changeFor: () => null,
    limit,
  };
  return updateNeed(
    vm,
    () => (vmi === null ? undefined : aVmi(vm, { revision: revisionOf(before), ...ROOM, ...vmi })),
    target,
  );
}

const act = (what: UpdateAct): UpdateNeed => ({ need: 'act', act: what });
const left = (why: string): UpdateNeed => ({ need: 'excluded', message: why });
const LIVE = left('it would be updated while it runs, which the pool does not allow');
const LARGE = { disk: '20Gi' };
const DISKS = left(
  "its disks would have to be replaced, which the pool does not allow (disk root: it can't shrink from 20Gi to 10Gi)",
);

describe('a VM gets the least disruption that does the job, up to what the pool allows', () => {
  test.each<[string, Omit<Case, 'limit'>, Record<Disruption, UpdateNeed>]>([
    [
      'labels',
      { to: { color: 'blue' } },
      { None: act('write'), Live: act('write'), Restart: act('write'), Replace: act('write') },
    ],
    ['sockets', { to: { sockets: 2 } }, { None: LIVE, Live: act('live'), Restart: act('live'), Replace: act('live') }],
    [
      'sockets under Stage',
      { to: { sockets: 2 }, strategy: 'Stage' },
      { None: act('write'), Live: act('write'), Restart: act('restart'), Replace: act('restart') },
    ],
    [
      'fewer sockets',
      { from: { sockets: 2 }, to: {}, vmi: { cpu: { sockets: 2, maxSockets: 4, current: 2 } } },
      { None: act('write'), Live: act('write'), Restart: act('restart'), Replace: act('restart') },
    ],
    [
      'more sockets than there is room for',
      { to: { sockets: 8 } },
      { None: act('write'), Live: act('write'), Restart: act('restart'), Replace: act('restart') },
    ],
    [
      'sockets if KubeVirt waits for a restart already',
      { to: { sockets: 2 }, vm: { restartRequired: { since: 0, message: '' } } },
      { None: act('write'), Live: act('write'), Restart: act('restart'), Replace: act('restart') },
    ],
    [
      'cores',
      { to: { cores: 2 } },
      { None: act('write'), Live: act('write'), Restart: act('restart'), Replace: act('restart') },
    ],
    [
      'a disk more',
      { to: { disk: '10Gi' } },
      { None: act('write'), Live: act('write'), Restart: act('restart'), Replace: act('restart') },
    ],
    [
      'a larger disk',
      { from: { disk: '10Gi' }, to: { disk: '20Gi' } },
      { None: LIVE, Live: act('live'), Restart: act('live'), Replace: act('live') },
    ],
    [
      'a smaller disk',
      { from: LARGE, to: { disk: '10Gi' } },
      { None: DISKS, Live: DISKS, Restart: DISKS, Replace: act('replace') },
    ],
    [
      'a run strategy under which it runs too',
      { to: { runStrategy: 'Manual' } },
      { None: act('write'), Live: act('write'), Restart: act('write'), Replace: act('write') },
    ],
    [
      'a run strategy that stops it',
      { to: { runStrategy: 'Halted' } },
      {
        None: left('it would be stopped, which the pool does not allow'),
        Live: left('it would be stopped, which the pool does not allow'),
        Restart: act('restart'),
        Replace: act('restart'),
      },
    ],
  ])('a change of %s', (_what, change, expected) => {
    for (const limit of ['None', 'Live', 'Restart', 'Replace'] as const)
      expect([limit, need({ ...change, limit })]).toEqual([limit, expected[limit]]);
  });

  test.each(['Always', 'Manual', 'RerunOnFailure', 'Once'])('a VMI that runs under %s is restarted', (runStrategy) => {
    expect(need({ from: { runStrategy }, to: { runStrategy, cores: 2 } })).toEqual(act('restart'));
  });
});

describe('a VM that is not running', () => {
  test('is written to, whatever changes, if a user has stopped it', () => {
    for (const limit of ['None', 'Live', 'Restart', 'Replace', null] as const) {
      for (const to of [{ cores: 2 }, { sockets: 2 }, { color: 'blue' }, { runStrategy: 'Manual' }])
        expect(need({ to, limit, vm: HALTED, vmi: null })).toEqual(act('write'));
    }
  });

  test('is not waited for, nor restarted, while it stops', () => {
    expect(need({ to: { cores: 2 }, vm: { runStrategy: 'Halted' } })).toEqual(act('write'));
    expect(need({ to: { cores: 2 }, vm: { runStrategy: 'Halted' }, vmi: { deleting: true } })).toEqual(act('write'));
  });

  test('is waited for if it comes up', () => {
    expect(need({ to: { cores: 2 }, vm: { hasVmi: false, ready: false }, vmi: null })).toEqual(act('restart'));
    expect(need({ to: { cores: 2 }, vmi: { deleting: true } })).toEqual(act('restart'));
    expect(need({ from: { runStrategy: 'Halted' }, to: {}, vm: HALTED, vmi: null })).toEqual(act('restart'));
  });

  test.each(['Manual', 'Once'])('has ended under %s, and is not started', (runStrategy) => {
    expect(need({ from: { runStrategy }, to: { runStrategy, cores: 2 }, vmi: { phase: 'Succeeded' } })).toEqual(
      act('write'),
    );
  });

  test('is not replaced if it has ended, and its replacement would run', () => {
    const [from, to] = [
      { ...LARGE, runStrategy: 'Once' },
      { disk: '10Gi', runStrategy: 'Once' },
    ];
    expect(need({ from, to, limit: 'Replace', vmi: { phase: 'Succeeded' } })).toEqual(
      left('it has ended, and the VM in its place would run'),
    );
    expect(need({ from: LARGE, to, limit: 'Replace', vm: HALTED, vmi: null })).toEqual(act('replace'));
    expect(
      need({
        from: { ...LARGE, runStrategy: 'Manual' },
        to: { ...to, runStrategy: 'Manual' },
        limit: 'Replace',
        vm: { hasVmi: false, ready: false },
        vmi: null,
      }),
    ).toEqual(act('replace'));
  });
});

describe('a batch that may only touch stopped VMs', () => {
  const stops = left('it runs, and is updated when it stops');

  test('writes what a VMI reads only as it starts before the restart: the next VMI may come up before anything has seen this one stop', () => {
    expect(need({ to: { cores: 2 }, limit: null })).toEqual(act('write'));
    expect(need({ to: { cores: 2, sockets: 2 }, limit: null })).toEqual(act('write'));
    expect(need({ to: { sockets: 2 }, limit: null, strategy: 'Stage' })).toEqual(act('write'));
    const to = { cores: 2 };
    const written = { revision: revisionOf(aTemplate(to)) };
    expect(need({ to, limit: null, vm: written })).toEqual(
      left('it waits for a restart, which the pool leaves to users'),
    );
    expect(need({ to, limit: null, vm: written, vmi: written })).toEqual({ need: 'nothing' });
    // The change was reverted before any VMI started from it.
    expect(need({ from: to, to: {}, limit: null, vmi: { revision: revisionOf(aTemplate({})) } })).toEqual(act('write'));
  });

  test.each<[string, Omit<Case, 'limit'>]>([
    ['what KubeVirt would change while it runs', { to: { sockets: 2 } }],
    [
      'what KubeVirt would change, though the pool does not count on it',
      { to: { sockets: 2 }, strategy: 'Stage', clusterStrategy: 'LiveUpdate' },
    ],
    ['a disk more', { to: { disk: '10Gi' } }],
    ['what would stop it', { to: { cores: 2, runStrategy: 'Halted' } }],
    [
      'what would come live because nothing else waits any more',
      {
        from: { cores: 2, sockets: 1 },
        to: { sockets: 2 },
        vmi: { revision: revisionOf(aTemplate({ sockets: 1 })) },
      },
    ],
    [
      'what KubeVirt would change once what was written before makes it need no restart',
      {
        from: { cores: 2, sockets: 1 },
        to: { sockets: 2 },
        vm: { restartRequired: { since: 0, message: '' } },
        vmi: { revision: revisionOf(aTemplate({ sockets: 1 })) },
      },
    ],
  ])('%s is not written while it runs', (_what, change) => expect(need({ ...change, limit: null })).toEqual(stops));

  test('writes to a VM without a VMI, and to a paused VM once it is resumed', () => {
    expect(need({ to: { cores: 2 }, limit: null, vmi: { pause: BY_USER } })).toEqual({
      need: 'deferred',
      message: 'it is paused by a user',
      until: null,
    });
    expect(need({ to: { cores: 2 }, limit: null, vmi: { deleting: true } })).toEqual(act('write'));
    expect(need({ to: { cores: 2 }, limit: null, vm: HALTED, vmi: null })).toEqual(act('write'));
    expect(need({ from: LARGE, to: { disk: '10Gi' }, limit: null, vm: HALTED, vmi: null })).toEqual(DISKS);
  });
});

describe('a VM is left alone', () => {
  test.each<[string, Omit<Case, 'to'>, UpdateNeed]>([
    ['for as long as its owner wants', { vm: { optedOut: true } }, left('its owner opted out of disruption')],
    [
      'while a snapshot is taken',
      { vm: { operations: SNAPSHOT } },
      { need: 'deferred', message: 'a snapshot of it (nightly) is taken', until: null },
    ],
    [
      'while it is paused',
      { vmi: { pause: BY_USER } },
      { need: 'deferred', message: 'it is paused by a user', until: null },
    ],
    [
      'while it migrates',
      { vmi: { migration: { name: 'm', phase: 'Running', createdAt: 0 } } },
      { need: 'deferred', message: 'it migrates (m)', until: null },
    ],
    [
      'while it is received',
      { vm: { runStrategy: 'WaitAsReceiver' } },
      { need: 'deferred', message: 'it receives a migration', until: null },
    ],
    [
      'under a name that no template is made for',
      { vm: { name: 'web-x' } },
      left("its name does not match the pool's naming scheme"),
    ],
  ])('%s', (_when, fields, expected) => {
    expect(need({ to: { cores: 2 }, ...fields })).toEqual(expected);
  });

  test('and is not waited for if nothing would be done to it', () => {
    expect(need({ to: {}, vmi: { pause: BY_USER } })).toEqual({ need: 'nothing' });
    expect(need({ from: LARGE, to: { disk: '10Gi' }, vmi: { pause: BY_USER } })).toEqual(DISKS);
    expect(need({ to: {}, vm: { optedOut: true } })).toEqual({ need: 'nothing' });
  });
});

const target = (limit: Disruption): RolloutTarget => ({
  revision: NEW,
  template: NEW_TEMPLATE,
  templateOf: (revision) => ({ [OLD]: OLD_TEMPLATE, [NEW]: NEW_TEMPLATE })[revision],
  strategy: 'LiveUpdate',
  clusterStrategy: 'LiveUpdate',
  changeFor: () => null,
  limit,
});

const of = (revision: string | null, vmi: string | null, limit: Disruption = 'Restart'): UpdateNeed =>
  updateNeed(old(1, { revision }), (vm) => aVmi(vm, { revision: vmi, ...ROOM }), target(limit));

const nics = (...names: string[]): PoolTemplate => ({
  spec: {
    runStrategy: 'Always',
    template: {
      spec: {
        domain: { devices: { interfaces: names.map((name) => ({ name, bridge: {} })) } },
        networks: names.map((name) => ({ name, multus: { networkName: name } })),
      },
    },
  },
});
const typed = (name: string): PoolTemplate => ({
  spec: { runStrategy: 'Always', instancetype: { name }, template: { spec: { domain: { devices: {} } } } },
});
const sized = (sockets: number): PoolTemplate => aTemplate({ sockets });
const LATER = left('KubeVirt would begin to change it while it runs: it is updated when it stops');
const STOPS = left('it runs, and is updated when it stops');

/** What a VM of `from` needs for `to`, under each limit. */
function needs(from: PoolTemplate, to: PoolTemplate, fields: Partial<RolloutTarget> = {}, vmi: Partial<VmiView> = {}) {
  const [before, after] = [revisionOf(from), revisionOf(to)];
  const vm = old(1, { revision: before });
  const one = aVmi(vm, { revision: before, migratable: true, ...ROOM, ...vmi });
  return ([null, 'None', 'Live', 'Restart'] as const).map((limit) =>
    updateNeed(vm, () => one, {
      revision: after,
      template: to,
      templateOf: (revision) => (revision === before ? from : undefined),
      strategy: 'LiveUpdate',
      clusterStrategy: 'LiveUpdate',
      changeFor: () => null,
      limit,
      ...fields,
    }),
  );
}
const expandedOf =
  (small: PoolTemplate, large: PoolTemplate): NonNullable<RolloutTarget['expandedOf']> =>
  (revision) =>
    revision === revisionOf(typed('small')) ? small : revision === revisionOf(typed('large')) ? large : undefined;

describe('a device that KubeVirt plugs into a running VMI', () => {
  test('is added live, within the budget, and is not written if the pool allows less', () => {
    expect(needs(nics('a'), nics('a', 'b'))).toEqual([STOPS, LIVE, act('live'), act('live')]);
    const sizes = { expandedOf: expandedOf(sized(1), sized(2)) };
    expect(needs(typed('small'), typed('large'), sizes)).toEqual([STOPS, LIVE, act('live'), act('live')]);
  });

  test('needs a restart if the VMI cannot be migrated, or nothing migrates it', () => {
    for (const [fields, vmi] of [
      [{}, { migratable: false }],
      [{ plugs: { migrates: false, volumes: false } }, {}],
    ] as const)
      expect(needs(nics('a'), nics('a', 'b'), fields, vmi)).toEqual([STOPS, expect.anything(), LATER, act('restart')]);
  });

  test('is not written if the instance type may need a restart', () => {
    expect(needs(typed('small'), typed('large'))).toEqual([STOPS, LATER, LATER, act('restart')]);
  });

  test('is written if the instance type is one that KubeVirt has no room for', () => {
    const sizes = { expandedOf: expandedOf(sized(1), sized(8)) };
    expect(needs(typed('small'), typed('large'), sizes)).toEqual([
      act('write'),
      act('write'),
      act('write'),
      act('restart'),
    ]);
    expect(needs(typed('small'), typed('large'), { clusterStrategy: 'Stage', strategy: 'Stage' })).toEqual([
      act('write'),
      act('write'),
      act('write'),
      act('restart'),
    ]);
  });
});

const ofSockets = (sockets: number): VmView['spec'] => ({ template: { spec: { domain: { cpu: { sockets } } } } });

describe('a VM in the middle of an update', () => {
  test('needs nothing if both its spec and its VMI are of the revision', () => {
    expect(of(NEW, NEW)).toEqual({ need: 'nothing' });
    expect(updateNeed(old(1, { revision: NEW, ...HALTED }), () => undefined, target('Restart'))).toEqual({
      need: 'nothing',
    });
  });

  test('waits for a restart if KubeVirt has begun with an update that was taken back since', () => {
    const back = { from: { sockets: 1 }, to: { sockets: 1 } };
    const vmi = { cpu: { sockets: 2, maxSockets: 4, current: 1 } };
    const waits = left(
      'it waits for a restart: its VMI has got 2 sockets meanwhile, which KubeVirt takes back only at a restart',
    );
    expect(need({ ...back, vm: { spec: ofSockets(1) }, vmi })).toEqual(waits);
    expect(need({ ...back, vmi })).toEqual(waits);
    // KubeVirt keeps the instance type that a VM was made with; only what it says of a restart tells the two apart.
    const ofType = { spec: { ...ofSockets(1), ...typed('small').spec } };
    expect(need({ ...back, vm: ofType, vmi })).toEqual({ need: 'nothing' });
    expect(need({ ...back, vm: { ...ofType, restartRequired: { since: null, message: '' } }, vmi })).toEqual(waits);
    // A user has given it more than the template.
    expect(need({ ...back, vm: { spec: ofSockets(2) }, vmi })).toEqual({ need: 'nothing' });
  });

  test('needs its restart only if its spec was written', () => {
    expect(of(NEW, OLD)).toEqual(act('restart'));
    expect(of(NEW, OLD, 'Live')).toEqual(left('it waits for a restart, which the pool leaves to users'));
  });

  test('needs no restart if the change was reverted before it', () => {
    expect(of(OLD, NEW)).toEqual(act('write'));
  });

  test('needs a restart if it is unknown what it was made from', () => {
    expect(of(null, null)).toEqual(act('restart'));
    expect(of('lost', 'lost')).toEqual(act('restart'));
    expect(of('lost', 'lost', 'Live')).toEqual(act('write'));
  });

  test('keeps the run strategy that a user gave it, and is not restarted for another', () => {
    expect(need({ to: { runStrategy: 'Halted' }, vm: { runStrategy: 'Manual' } })).toEqual(act('write'));
    expect(
      need({ from: { runStrategy: 'Halted' }, to: {}, vm: { ...HALTED, runStrategy: 'Manual' }, vmi: null }),
    ).toEqual(act('write'));
  });
});
