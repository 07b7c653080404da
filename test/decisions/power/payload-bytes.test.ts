import { describe, expect, test } from 'vitest';
import { newestActs } from '../../../decisions/history/act.ts';
import { bytesOfNames, bytesOfRecords, MAX_BYTES } from '../../../decisions/power/payload-bytes.ts';
import { addFailure } from '../../../decisions/runs/failures.ts';
import type { FailedVm } from '../../../decisions/runs/progress.ts';
import { inShort, withSkipped, type Skipped } from '../../../decisions/runs/skipped.ts';
import type { CarriedPower } from '../../../workflows/power/power-run.ts';
import { anAct } from '../history/acts.ts';

/** Temporal's default limit for one payload, in bytes. */
const MAX_TEMPORAL_BYTES = 2 * 1024 * 1024;
const UID = '0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f';

interface Names {
  length: number;
  of: number;
}

const namesOf = ({ length, of }: Names): string[] => Array.from({ length: of }, (_, n) => `${n}`.padStart(length, 'n'));
const vmisOf = (namespace: string, names: string[]) => ({
  [namespace]: Object.fromEntries(names.map((name) => [name, UID])),
});

/** Returns as many VMs with names of this length as one restart may have. */
function most(namespace: string, length: number): string[] {
  const names = namesOf({ length, of: 10_000 });
  return names.slice(0, (10_000 * MAX_BYTES) / bytesOfNames(vmisOf(namespace, names)));
}

/** The largest input that a run hands to the next run: every VM has the longest possible report. */
function worstInput(namespace: string, names: string[]): CarriedPower {
  const long = 'é'.repeat(10_000);
  const keys = names.map((name) => `${namespace}/${name}`);
  const all = keys.slice(0, 50);
  // What is in progress takes less than what has failed.
  const inProgress = keys.splice(0, 250).map((vm) => ({ vm, since: 1_700_000_000_000 }));
  const groups = Array.from({ length: 50 }, (_, n) => ({
    message: `${n}${long}`,
    isExcluded: false,
    count: 50,
    vms: keys.splice(0, 50),
  }));
  let left: Skipped[] = [];
  for (let n = 0; n < 300; n++) left = withSkipped(left, all[n]!, `${n % 30}${long}`);
  const failed: FailedVm[] = [];
  for (const vm of keys) addFailure(failed, { vm, message: long, wasDown: true });
  const full = Array.from(
    { length: 41 },
    () =>
      `in pool ${'n'.repeat(63)}/${'n'.repeat(253)}, 100 VMs are unavailable or in progress, and maxUnavailable allows 100`,
  );
  const said = { by: 'é'.repeat(1_024), at: new Date(0).toISOString(), reason: 'é'.repeat(1_024) };
  const rest = {
    digest: '0123456789abcdef',
    idledMs: 600_000,
    watchedSince: 1_700_000_000_000,
    minVersions: { vms: '9'.repeat(20) },
    namespaces: [namespace],
  };
  const acts = newestActs(
    Array.from({ length: 1_000 }, () => anAct({ vms: all, message: long.slice(0, 300) })),
    bytesOfRecords(vmisOf(namespace, names)),
  );
  const carried = {
    inProgress,
    done: [],
    gone: [],
    failed,
    open: names.length,
    skipped: inShort(groups),
    full,
    needs: { Restart: 10_000, Live: 10_000, Start: 10_000 },
    excluded: left,
    paused: said,
    aborted: said,
    ...rest,
  };
  const asked = {
    operation: { namespace, name: 'n'.repeat(253), uid: '01234567-89ab-cdef-0123-456789abcdef' },
    action: 'Restart' as const,
    atOnce: 500,
    maxFailures: 0,
    deadlineMs: 600_000,
    requestedBy: 'system:admin',
    reason: 'é'.repeat(10_000),
  };
  return { input: { chosen: vmisOf(namespace, names), ...asked }, state: carried, acts };
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

describe('the state that a restart hands to its next run', () => {
  test.each([20, 63, 253])('fits into Temporal with as many VMs as it may have with names of %i letters', (length) => {
    const namespace = 'n'.repeat(Math.min(length, 63));
    const names = most(namespace, length);
    expect(bytesOf(worstInput(namespace, names))).toBeLessThan(MAX_TEMPORAL_BYTES);
    expect(names.length).toBeGreaterThan(2_500);
  });

  test('fits with 10,000 VMs with names of 30 letters', () => {
    expect(bytesOfNames(vmisOf('n'.repeat(20), namesOf({ length: 30, of: 10_000 })))).toBeLessThan(MAX_BYTES);
  });
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
