import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addTo, bytesOfOwner, endActs, MOST_BYTES, newestActs, type Act } from '../../../decisions/history/act.ts';
import { anAct, anOpenAct } from './acts.ts';

const NOW = '2026-01-01T00:05:00.000Z';
const at = (second: number): string => new Date(Date.parse('2026-01-01T00:00:00Z') + second * 1_000).toISOString();
const shown = (acts: readonly Act[]): string[] => acts.map(({ vms, end }) => `${vms.join()} ${end}`);

describe('an act in progress', () => {
  const acts = [anOpenAct({ vms: ['web-1', 'web-2', 'web-3'] })];

  test('ends for some of its VMs, and continues for the others', () => {
    const ended = endActs(acts, { vms: ['web-2'] }, { end: 'Failed', message: 'late' }, NOW);
    expect(shown(ended)).toEqual(['web-1,web-3 InProgress', 'web-2 Failed']);
    expect(ended[1]).toMatchObject({ endedAt: NOW, message: 'late', from: 'a', to: 'b' });
  });

  test('ends once for each VM', () => {
    const once = endActs(acts, {}, { end: 'Updated' }, NOW);
    expect(endActs(once, {}, { end: 'Failed' }, NOW)).toEqual(once);
  });

  test('is forgotten if nothing was done', () => {
    expect(shown(endActs(acts, { vms: ['web-1'] }, null, NOW))).toEqual(['web-2,web-3 InProgress']);
    expect(endActs(acts, {}, null, NOW)).toEqual([]);
  });

  test('is not ended in place of one of another workflow, of another kind, or on other VMs', () => {
    const others = [{ workflow: 'other' }, { action: 'delete' }, { vms: ['web-9'] }];
    for (const which of others) expect(endActs(acts, which, { end: 'Done' }, NOW)).toEqual(acts);
  });

  test('has its reason cut if that is long', () =>
    expect(endActs(acts, {}, { end: 'Failed', message: 'x'.repeat(1_000) }, NOW)[0]!.message).toHaveLength(300));
});

test('VMs that began within a minute and ended alike are one act, which ends with the last of them', () => {
  const acts = ['web-1', 'web-2', 'web-3'].map((vm, index) => anOpenAct({ vms: [vm], time: at(index * 40) }));
  const ended = ['web-1', 'web-2', 'web-3'].reduce(
    (before, vm, index) => endActs(before, { vms: [vm] }, { end: 'Updated' }, at(100 + index)),
    acts,
  );
  expect(shown(ended)).toEqual(['web-1,web-2 Updated', 'web-3 Updated']);
  expect(ended[0]).toMatchObject({ time: at(0), endedAt: at(101) });
});

test('a VM that restarted twice within a minute has two acts, and so have two users who ask for the same', () => {
  const acts = [anAct()];
  addTo(acts, anAct({ time: at(20) }));
  expect(shown(acts)).toEqual(['web-1 Updated', 'web-1 Updated']);
  const asked = [anAct({ action: 'pause', vms: [] })];
  addTo(asked, anAct({ action: 'pause', vms: [] }));
  expect(asked).toHaveLength(2);
});

test('the newest acts that fit are kept, whatever characters they contain', () =>
  fc.assert(
    fc.property(
      fc.array(fc.record({ message: fc.string({ unit: 'grapheme', maxLength: 50 }), vms: fc.array(fc.string()) })),
      fc.integer({ min: 0, max: 5_000 }),
      (some, bytes) => {
        const acts = some.map((more) => anAct(more));
        const kept = newestActs(acts, bytes);
        expect(kept).toEqual(acts.slice(acts.length - kept.length));
        if (kept.length > 0) expect(Buffer.byteLength(JSON.stringify(kept))).toBeLessThanOrEqual(bytes + 1);
        expect(newestActs(acts, 1e6)).toEqual(acts);
      },
    ),
  ));

test('a pool of 20 VMs keeps the records of several rollouts, 500 such pools take a few MB, and a pool of 10,000 keeps a whole rollout', () => {
  const each = Array.from({ length: 1_000 }, (_, n) => anAct({ vms: [`web-${n}`], message: 'x'.repeat(100) }));
  expect(newestActs(each, bytesOfOwner(20)).length).toBeGreaterThan(80);
  expect(500 * bytesOfOwner(20)).toBeLessThan(20e6);
  const whole = anAct({ vms: Array.from({ length: 10_000 }, (_, n) => `a-long-name-of-a-pool-${n}`) });
  expect(newestActs([whole], bytesOfOwner(10_000))).toHaveLength(1);
  expect(bytesOfOwner(1e6)).toBe(MOST_BYTES);
});
