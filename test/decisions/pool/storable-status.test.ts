import { expect, test } from 'vitest';
import { CAPS } from '../../../api/lib/caps.ts';
import { PoolStatus } from '../../../api/pool/pool.ts';
import { storable } from '../../../decisions/pool/storable-status.ts';
import { newRolloutState } from '../../../decisions/rollout/state/state.ts';

/** What etcd takes of one object. */
const ETCD = 1_536 * 1024;

const at = '2026-01-01T00:00:00.000Z';
const uid = '0'.repeat(36);
const times = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));
const vm = (n: number): string => `${'v'.repeat(50)}-${n}`;
const words = (length: number): string => 'w'.repeat(length);
const act = { by: words(256), at, reason: words(1_024) };
const answers = (vms: number) =>
  times(CAPS.handledRequests, () => ({
    id: uid,
    digest: uid,
    action: 'takeover',
    ...act,
    outcome: 'Done' as const,
    message: words(1_024),
    vms: times(vms, vm),
  }));

/** A status with as much in each list as it may have. */
const full: PoolStatus = {
  replicas: 1_000,
  rollout: {
    ...newRolloutState(uid, at),
    inFlight: times(CAPS.batches, (n) => n + 1),
    failures: times(CAPS.failures, (n) => ({ vm: vm(n), message: words(n < CAPS.failureMessages ? 1_024 : 60), at })),
    handledRequests: answers(1),
  },
  healing: {
    cycles: times(CAPS.healingCycles, (n) => ({
      vm: vm(n),
      uid,
      attempt: 1,
      phase: 'Removing' as const,
      message: words(128),
      startedAt: at,
      nextAt: at,
      skipped: words(1_300),
    })),
    finished: times(CAPS.healingEnds, (n) => ({
      vm: vm(n),
      uid,
      attempts: 1,
      end: 'Skipped' as const,
      message: words(128),
      at,
    })),
    notReplaced: times(50, (n) => ({ vm: vm(n), message: words(1_024), waitsFor: words(1_024) })),
    vmiPauses: times(CAPS.vmiPauses, () => ({ vmUid: uid, endedAt: at })),
    handledRequests: answers(100),
  },
  membership: { handledRequests: answers(500) },
  conditions: times(25, (n) => ({ type: `Type${n}`, status: 'True' as const, message: words(32_768) })),
};
const OTHERS = {
  disruptedVMs: times(CAPS.claims, (n) => ({ vm: vm(n), vmi: uid, by: words(200), at, minVersions: { vms: uid } })),
  roles: times(CAPS.roles, (n) => ({ vm: vm(n), role: 'Surge', uid, at })),
};

test('a status with all its lists full can be stored beside what others write, and loses nothing that holds back', () => {
  expect(PoolStatus.safeParse(full).error).toBeUndefined();
  const stored = storable(full);
  expect(PoolStatus.safeParse(stored).error).toBeUndefined();
  expect(JSON.stringify({ ...stored, ...OTHERS }).length).toBeLessThan(ETCD);
  expect(stored.rollout!.inFlight).toEqual(full.rollout!.inFlight);
  expect(stored.rollout!.failures.map(({ vm }) => vm)).toEqual(full.rollout!.failures.map(({ vm }) => vm));
  expect(stored.healing).toMatchObject({ cycles: full.healing!.cycles, finished: full.healing!.finished });
  expect(stored.healing).toMatchObject({ vmiPauses: full.healing!.vmiPauses, notListed: 50 });
  expect(stored.membership!.handledRequests!.map(({ digest }) => digest)).toHaveLength(CAPS.handledRequests);
  expect(storable(stored)).toEqual(stored);
});

test('a status of the usual size is left as it is', () => {
  const usual: PoolStatus = {
    replicas: 1,
    rollout: newRolloutState(uid, at),
    conditions: full.conditions!.slice(0, 1),
  };
  expect(storable(usual)).toBe(usual);
});
