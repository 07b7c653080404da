import { describe, expect, test } from 'vitest';
import { newestActs } from '../../../decisions/history/act.ts';
import { bytesOfRecords, fitting, MAX_VMS } from '../../../decisions/power/payload-bytes.ts';
import { addOutcome, newTally } from '../../../decisions/power/progress.ts';
import { addFailure } from '../../../decisions/runs/failures.ts';
import { withIndex } from '../../../decisions/runs/index-set.ts';
import type { FailedVm } from '../../../decisions/runs/progress.ts';
import { inShort, withSkipped, type Skipped } from '../../../decisions/runs/skipped.ts';
import type { CarriedPower } from '../../../workflows/power/power-run.ts';
import { anAct } from '../history/acts.ts';

/** Temporal's default limit for one payload, in bytes. */
const MAX_TEMPORAL_BYTES = 2 * 1024 * 1024;

/** The largest input that a run hands to the next run: every VM has the longest possible report. */
function worstInput(vms: number, nameLength: number): CarriedPower {
  const long = 'é'.repeat(10_000);
  const keys = Array.from({ length: 20_000 }, (_, n) => `${'n'.repeat(20)}/${`${n}`.padStart(nameLength, 'n')}`);
  const fits = fitting(
    keys.map((name) => ({ name })),
    [],
  );
  const inProgress = fits.map(({ name: vm }) => ({ vm, since: 1_700_000_000_000 }));
  const groups = Array.from({ length: 50 }, (_, n) => ({
    message: `${n}${long}`,
    isExcluded: false,
    count: 50,
    vms: keys.slice(0, 50),
  }));
  let excluded: Skipped[] = [];
  for (let n = 0; n < 300; n++) excluded = withSkipped(excluded, keys[n]!, `${n % 30}${long}`);
  const tally = newTally();
  for (let index = 0; index < 1_000; index++)
    addOutcome(tally, 'Restart', { vm: keys[index]!, index, end: 'Failed', message: long, wasDown: true });
  tally.ended = withIndex(tally.ended, vms - 1);
  const full = Array.from(
    { length: 41 },
    () =>
      `in pool ${'n'.repeat(63)}/${'n'.repeat(253)}, 100 VMs are unavailable or in progress, and maxUnavailable allows 100`,
  );
  const said = { by: 'é'.repeat(1_024), at: new Date(0).toISOString(), reason: 'é'.repeat(1_024) };
  const acts = newestActs(
    Array.from({ length: 1_000 }, () => anAct({ vms: keys.slice(0, 50), message: long.slice(0, 300) })),
    bytesOfRecords(vms),
  );
  const state = {
    ...tally,
    excluded,
    needs: { Restart: vms, Live: vms, Start: vms },
    inProgress,
    open: vms,
    skipped: inShort(groups),
    full,
    paused: said,
    aborted: said,
    digest: '0123456789abcdef',
    idledMs: 600_000,
    watchedSince: 1_700_000_000_000,
    minVersions: { vms: '9'.repeat(20) },
    namespaces: null,
  };
  const input = {
    chosen: { count: vms, namespaces: null, digests: Buffer.alloc(vms * 10, 255).toString('base64') },
    ended: tally.ended,
    asOf: { vms: '9'.repeat(20) },
    operation: { namespace: 'n'.repeat(63), name: 'n'.repeat(253), uid: '01234567-89ab-cdef-0123-456789abcdef' },
    action: 'Restart' as const,
    atOnce: 500,
    maxFailures: 0,
    deadlineMs: 600_000,
    requestedBy: 'system:admin',
    reason: 'é'.repeat(10_000),
  };
  return { input, state, acts };
}

describe('the state that a restart hands to its next run', () => {
  test.each([20, 63, 253])('fits into Temporal with the most VMs, of names of %i letters', (nameLength) => {
    const worst = worstInput(MAX_VMS, nameLength);
    expect(worst.state!.inProgress.length).toBeGreaterThan(800);
    expect(Buffer.byteLength(JSON.stringify(worst))).toBeLessThan(MAX_TEMPORAL_BYTES);
  });
});

test('VMs in progress take no more room than there is, with those that are busy', () => {
  const vms = Array.from({ length: 10_000 }, (_, n) => ({ name: `shop/web-${n}` }));
  const first = fitting(vms, []);
  expect(first.length).toBeGreaterThan(4_000);
  const names = first.map(({ name }) => name);
  expect(fitting(vms.slice(first.length), names)).toEqual([]);
  expect(fitting(vms.slice(first.length), names.slice(10)).length).toBeGreaterThan(5);
  expect(fitting(vms.slice(0, 10), [])).toEqual(vms.slice(0, 10));
});

test('keeps the reasons of the last of many failures, cut if they are long', () => {
  const failed: FailedVm[] = [];
  for (let n = 0; n < 250; n++)
    addFailure(failed, { vm: `shop/vm-${n}`, message: `${n} ${'x'.repeat(1_000)}`, wasDown: true });
  expect(failed.map(({ message: why }) => why.length)).toEqual([
    ...Array<number>(150).fill(0),
    ...Array<number>(100).fill(300),
  ]);
  expect(failed.at(-1)!.message).toMatch(/^249 x/);
});
