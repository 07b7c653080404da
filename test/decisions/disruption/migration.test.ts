import { describe, expect, test } from 'vitest';
import { liveUpdateCountsFrom } from '../../../decisions/disruption/migration.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';

const T = 1_000_000;
const NOW = T + 600_000;
type Moving = Pick<VmiView, 'migration' | 'migratedAt'>;
const vmi = (phase?: string, createdAt = T + 100_000, migratedAt: number | null = null): Moving => ({
  migration: phase === undefined ? null : { name: 'kubevirt-workload-update-1', phase, createdAt },
  migratedAt,
});

const waited: Moving = { migration: { ...vmi('Running').migration!, begunAt: T + 300_000 }, migratedAt: null };

describe('the time of a live update that KubeVirt makes by a migration', () => {
  test.each<[title: string, own: Moving, others: Moving[], expected: number]>([
    ['counts from its beginning if KubeVirt migrates none', vmi(), [vmi()], T],
    ['counts from its migration, once that has begun', vmi('Running'), [vmi('Running')], T + 100_000],
    ['not from when that was made and waited for a place', waited, [vmi('Running')], T + 300_000],
    ['counts no sooner than it was begun', vmi('Running', T - 5), [], T],
    ['does not count while others migrate and it waits', vmi(), [vmi('Running')], NOW],
    ['nor while its own migration waits', vmi('Pending'), [vmi('TargetReady')], NOW],
    ['counts while all wait', vmi('Pending'), [vmi('Pending'), vmi()], T],
    [
      'counts from the last that has ended',
      vmi(),
      [vmi(undefined, T, T + 300_000), vmi(undefined, T, T + 5)],
      T + 300_000,
    ],
    ['also its own, which KubeVirt makes again', vmi(undefined, T, T + 200_000), [], T + 200_000],
  ])('%s', (_title, own, others, expected) => {
    expect(liveUpdateCountsFrom(own, [own, ...others], T, NOW)).toBe(expected);
  });
});
