import { describe, expect, test } from 'vitest';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import type { Batch, UpdateAct } from '../../../decisions/owners/batch.ts';
import type { Backoffs, FailureReason } from '../../../decisions/owners/failures.ts';
import type { PoolStep } from '../../../decisions/owners/steps.ts';
import type { PoolPlanInput } from '../../../decisions/pool/plan-input.ts';
import { planPool } from '../../../decisions/pool/plan.ts';
import { newRolloutState } from '../../../decisions/rollout/state/state.ts';
import { vmName } from '../../../decisions/template/vm-names.ts';
import { updateNeed } from '../../../decisions/vm-update/need.ts';
import { backoffFor, failed } from '../fixtures/backoffs.ts';
import { aPool, aVm, aVmi, quiet, REVISION } from '../fixtures/fleets.ts';

const plan = (spec: Partial<PoolSpec>, input: Partial<PoolPlanInput>): PoolStep[] =>
  planPool({ pool: aPool(spec), vms: [], ...quiet, burst: 250, ...input }).steps;
const numbered = (count: number, fields: Parameters<typeof aVm>[1] = {}) =>
  Array.from({ length: count }, (_, index) => aVm(vmName('web', index + 1), fields));
const without = (vms: ReturnType<typeof numbered>, ...names: string[]) => vms.filter((vm) => !names.includes(vm.name));
const created = (steps: PoolStep[]): number[] => steps.flatMap((step) => (step.kind === 'create' ? step.numbers : []));
const deleted = (steps: PoolStep[]): string[] =>
  steps.flatMap((step) => (step.kind === 'delete' || step.kind === 'halt' ? step.vms.map((vm) => vm.name) : [])).sort();

const aBatch = (names: string[], act: UpdateAct = 'restart'): Batch => ({
  n: 1,
  revision: REVISION,
  rollout: REVISION,
  startedAt: 0,
  vms: names.map((name) => ({ name, uid: `uid-of-${name}`, act, from: 'old', wasDown: false })),
});

test('scale-in takes a VM whose node is drained before VMs that serve elsewhere', () => {
  const vms = numbered(9);
  for (const drained of vms) {
    const vmiOf: PoolPlanInput['vmiOf'] = (vm) => aVmi(vm, { nodeDrained: vm === drained });
    expect(deleted(plan({ replicas: 8 }, { vms, vmiOf }))).toEqual([drained.name]);
  }
});

describe('a VM that is gone while a batch holds its name', () => {
  const batches = [aBatch(['web-3', 'web-7'])];
  const vms = without(numbered(10), 'web-3');

  test('does not count as a replica, so no other VM is scaled in because of it', () => {
    expect(plan({ replicas: 9 }, { vms, batches })).toEqual([]);
    expect(plan({ replicas: 9 }, { vms, batches, isVmNameTaken: (name) => name === 'web-3' })).toEqual([]);
    expect(deleted(plan({ replicas: 8 }, { vms, batches }))).toHaveLength(1);
  });

  test('is recreated at once, and does not wait for the other VMs of the batch', () => {
    expect(created(plan({ replicas: 10 }, { vms, batches }))).toEqual([3]);
    expect(created(plan({ replicas: 10 }, { vms, batches, isVmNameTaken: (name) => name === 'web-3' }))).toEqual([11]);
  });

  test('is left to a batch that replaces it, and takes no place of VMs that are there', () => {
    const replacing = [aBatch(['web-3', 'web-7'], 'replace')];
    expect(created(plan({ replicas: 10 }, { vms, batches: replacing }))).toEqual([]);
    expect(deleted(plan({ replicas: 9 }, { vms, batches: replacing }))).toEqual([]);
    expect(
      created(plan({ replicas: 10 }, { vms, batches: replacing, isVmNameTaken: (name) => name === 'web-3' })),
    ).toEqual([11]);
  });

  test('is healed like any other once it is there again, though the batch is not over', () => {
    const again = aVm('web-3', { uid: 'another', ready: false, state: 'CrashLoopBackOff', startFailures: 9 });
    const healing = (uid: string) =>
      planPool({
        ...quiet,
        pool: aPool({ replicas: 10, autohealing: {} }),
        vms: [...vms, { ...again, uid }],
        batches,
        burst: 250,
      }).healing.begin;
    expect(healing('another')).toMatchObject([{ unhealthyVm: { name: 'web-3' } }]);
    expect(healing('uid-of-web-3')).toEqual([]);
  });
});

test('VMs that are still being created do not make existing VMs surplus', () => {
  const inProgress = { creating: ['web-4', 'web-5'], deleting: [] };
  expect(plan({ replicas: 3 }, { vms: numbered(3), inProgress })).toEqual([]);
});

describe('scale-in in a rollout', () => {
  const down = ['web-4', 'web-8', 'web-9'];
  const vms = numbered(10).map((vm, index) =>
    down.includes(vm.name) ? { ...vm, ready: false, state: 'Starting', createdAt: index } : { ...vm, createdAt: index },
  );
  const batches = [aBatch(down)];

  test('takes the VMs that the rollout has brought down, and none that serve', () => {
    expect(deleted(plan({ replicas: 7, maxUnavailable: 3 }, { vms, batches }))).toEqual(down);
  });

  test('leaves no more VMs down than maxUnavailable allows, whatever the order of the base policy', () => {
    const oldest = { proactive: { selectionPolicy: { basePolicy: 'Oldest' } } } as const;
    expect(deleted(plan({ replicas: 8, maxUnavailable: 3, scaleInStrategy: oldest }, { vms, batches }))).toEqual([
      'web-1',
      'web-2',
    ]);
    expect(deleted(plan({ replicas: 8, maxUnavailable: 2, scaleInStrategy: oldest }, { vms, batches }))).toEqual([
      'web-1',
      'web-4',
    ]);
    expect(deleted(plan({ replicas: 8, maxUnavailable: 1, scaleInStrategy: oldest }, { vms, batches }))).toEqual([
      'web-4',
      'web-8',
    ]);
  });

  test('does not wait for a batch when scaling to zero', () => {
    expect(deleted(plan({ replicas: 0 }, { vms, batches }))).toHaveLength(10);
  });

  test('takes the VMs that the policy names first, though a batch works on them', () => {
    const spare = vms.map((vm) =>
      vm.name === 'web-4' ? { ...vm, ready: true, labels: { tier: 'spare' } } : { ...vm, ready: true },
    );
    const labelled = {
      proactive: { selectionPolicy: { orderedPolicies: [{ labelSelector: { matchLabels: { tier: 'spare' } } }] } },
    };
    expect(deleted(plan({ replicas: 9, scaleInStrategy: labelled }, { vms: spare, batches }))).toEqual(['web-4']);
  });
});

describe('the order of the labels that a policy names', () => {
  const scaleInStrategy = {
    proactive: { selectionPolicy: { orderedPolicies: [{ labelSelector: { matchLabels: { tier: 'spare' } } }] } },
  };
  const vms = [
    aVm('web-1', { labels: { tier: 'spare' } }),
    aVm('web-2', { labels: { tier: 'spare' } }),
    aVm('web-3', { ready: false, state: 'Unknown' }),
    aVm('web-4', { ready: false, state: 'ErrorUnschedulable' }),
  ];

  test('counts more than what may pass by itself', () => {
    expect(deleted(plan({ replicas: 2, maxUnavailable: 1, scaleInStrategy }, { vms }))).toEqual(['web-1', 'web-2']);
    expect(deleted(plan({ replicas: 2, maxUnavailable: 1 }, { vms }))).toEqual(['web-3', 'web-4']);
  });

  test('counts less than a VM that fails to start', () => {
    const failing = [...vms, aVm('web-5', { ready: false, state: 'CrashLoopBackOff', startFailures: 3 })];
    expect(deleted(plan({ replicas: 4, scaleInStrategy }, { vms: failing }))).toEqual(['web-5']);
  });
});

/** Five VMs of one revision, except one of another. */
const five = (revision: string, which: number, other: string) =>
  numbered(5, { revision }).map((vm, index) => (index + 1 === which ? { ...vm, revision: other } : vm));

describe('scale-in among VMs that the policy sees as equals', () => {
  test('takes a VM first that still needs the update', () => {
    // Each VM takes its turn: a single one may leave first because of its UID.
    for (let outdated = 1; outdated <= 5; outdated++) {
      const vms = five(REVISION, outdated, 'old');
      const steps = plan({ replicas: 4, updateStrategy: { unmanaged: {} } }, { vms });
      expect(deleted(steps)).toEqual([vmName('web', outdated)]);
    }
  });

  test('takes a VM first whose VMI still runs the older template', () => {
    for (let outdated = 1; outdated <= 5; outdated++) {
      const vmiOf = (vm: ReturnType<typeof aVm>) =>
        aVmi(vm, vm.name === vmName('web', outdated) ? { revision: 'old' } : {});
      const steps = plan({ replicas: 4, updateStrategy: { unmanaged: {} } }, { vms: numbered(5), vmiOf });
      expect(deleted(steps)).toEqual([vmName('web', outdated)]);
    }
  });

  test('takes a VM that migrates before those that serve', () => {
    for (let migrates = 1; migrates <= 5; migrates++) {
      const vmiOf = (vm: ReturnType<typeof aVm>) =>
        aVmi(vm, {
          migration: vm.name === vmName('web', migrates) ? { name: 'm', phase: 'Running', createdAt: 0 } : null,
        });
      expect(deleted(plan({ replicas: 4 }, { vms: numbered(5), vmiOf }))).toEqual([vmName('web', migrates)]);
    }
  });

  test('takes a VM of an unknown revision last', () => {
    for (let attached = 1; attached <= 5; attached++) {
      const vms = numbered(5).map((vm, index) => (index + 1 === attached ? { ...vm, revision: null } : vm));
      expect(deleted(plan({ replicas: 1, updateStrategy: { unmanaged: {} } }, { vms }))).not.toContain(
        vmName('web', attached),
      );
    }
  });

  test('takes a VM first that an undo has not brought back yet', () => {
    const at = '2026-01-01T00:00:00Z';
    const halted = { kind: 'Undoing', by: 'drover', at, reason: 'why' } as const;
    const rollout = { ...newRolloutState(REVISION, at), halted };
    const status = { replicas: 5, currentRevision: 'old', updateRevision: REVISION, rollout };
    const pool = { ...aPool({ replicas: 4 }), status };
    for (let outdated = 1; outdated <= 5; outdated++) {
      const vms = five('old', outdated, REVISION);
      expect(deleted(plan({}, { pool, vms, rollout }))).toEqual([vmName('web', outdated)]);
    }
  });

  test('takes a VM first that cannot run now, though the policy names labels and the base policy another', () => {
    const labels = { tier: 'spare' };
    const orderedPolicies = [{ labelSelector: { matchLabels: labels } }];
    const selectionPolicy = { orderedPolicies, basePolicy: 'Oldest' as const };
    const scaleInStrategy = { proactive: { selectionPolicy } };
    const waiting = aVm('web-2', { labels, createdAt: 2, state: 'ErrorUnschedulable', ready: false });
    const vms = [aVm('web-1', { labels, createdAt: 1 }), waiting, aVm('web-3')];
    expect(deleted(plan({ replicas: 2, maxUnavailable: 3, scaleInStrategy }, { vms }))).toEqual(['web-2']);
  });
});

describe('opportunistic scale-in', () => {
  const stopped = aVm('web-1', { runStrategy: 'RerunOnFailure', hasVmi: false, ready: false, state: 'Stopped' });
  const ended = aVm('web-2', { runStrategy: 'Once', ready: false, state: 'Stopped' });
  const vmiOf = (vm: typeof ended) =>
    vm.hasVmi ? aVmi(vm, vm.name === 'web-2' ? { phase: 'Succeeded' } : {}) : undefined;

  test('takes VMs that their VMIs or owners have stopped, whatever their run strategy', () => {
    const vms = [stopped, ended, aVm('web-3', { runStrategy: 'Once' }), aVm('web-4')];
    expect(deleted(plan({ replicas: 0, scaleInStrategy: { opportunistic: {} } }, { vms, vmiOf }))).toEqual([
      'web-1',
      'web-2',
    ]);
  });

  test('halts VMs that KubeVirt could start again first if disks are kept', () => {
    const scaleInStrategy = { opportunistic: { statePreservation: 'Offline' } } as const;
    expect(plan({ replicas: 0, scaleInStrategy }, { vms: [stopped, ended], vmiOf })).toMatchObject([{ kind: 'halt' }]);
  });
});

describe('a VM with a name that the pool would not give', () => {
  const adopted = aVm('borrowed');

  test('leaves like any other', () => {
    const vms = [adopted, aVm('web-1', { ready: false, startFailures: 3 }), aVm('web-2')];
    expect(deleted(plan({ replicas: 2 }, { vms }))).toEqual(['web-1']);
  });

  test('counts as one of its VMs, and is reported as the reason why it stays at its revision', () => {
    expect(plan({ replicas: 2 }, { vms: [adopted, aVm('web-1')] })).toEqual([]);
    const target = {
      revision: 'new',
      template: aPool().spec.template,
      templateOf: () => aPool().spec.template,
      strategy: 'Stage',
      clusterStrategy: 'Stage',
      changeFor: () => null,
      limit: 'Restart',
    } as const;
    expect(updateNeed(adopted, () => aVmi(adopted), target)).toEqual({
      need: 'excluded',
      message: "its name does not match the pool's naming scheme",
    });
  });
});

describe('a refused VM', () => {
  const refused = { names: ['web-3', 'web-2'], isDelayed: false };
  const again = (reason: FailureReason, allowance: number | null = null): Backoffs =>
    backoffFor(reason, { refused, allowance });
  const held = (reason: FailureReason): Backoffs => backoffFor(reason, { refused: { ...refused, isDelayed: true } });

  test('lets all others be made first, and keeps its number', () => {
    expect(created(plan({ replicas: 5 }, { backoffs: again('FailedCreate') }))).toEqual([1, 4, 5, 3, 2]);
    expect(created(plan({ replicas: 5 }, { backoffs: again('FailedCreate', 1) }))).toEqual([1]);
    const vms = without(numbered(5), 'web-2', 'web-3');
    expect(created(plan({ replicas: 5 }, { backoffs: again('FailedCreate', 1), vms }))).toEqual([3]);
  });

  test('is not tried before its time, when others are', () => {
    expect(created(plan({ replicas: 5 }, { backoffs: held('FailedCreate') }))).toEqual([1, 4, 5]);
    expect(plan({ replicas: 5 }, { backoffs: held('FailedCreate'), vms: without(numbered(5), 'web-3') })).toEqual([]);
  });

  test('lets all others leave first', () => {
    const pool = aPool({}, { deletionTimestamp: '2026-01-01T00:00:00Z' });
    const backoffs = again('FailedDelete', 2);
    expect(deleted(plan({}, { pool, vms: numbered(4), backoffs }))).toEqual(['web-1', 'web-4']);
    expect(deleted(plan({}, { pool, vms: numbered(4), backoffs: held('FailedDelete') }))).toEqual(['web-1', 'web-4']);
    expect(deleted(plan({ replicas: 0 }, { vms: numbered(4), backoffs }))).toEqual(['web-1', 'web-4']);
  });

  test('is held back only for what was refused', () => {
    expect(created(plan({ replicas: 5 }, { backoffs: held('FailedDelete') }))).toEqual([1, 2, 3, 4, 5]);
    expect(
      deleted(plan({ replicas: 0 }, { vms: numbered(2), backoffs: failed('FailedCreate', { allowance: 0 }) })),
    ).toEqual(['web-1', 'web-2']);
  });
});
