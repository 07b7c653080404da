import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { editsOf, withEdits, type Edit } from '../../../decisions/changes/edits.ts';
import { changesOf, withChange, withoutChange } from '../../../decisions/changes/note.ts';
import { undone } from '../../../decisions/changes/undo.ts';
import { canonical } from '../../../decisions/lib/canonical-json.ts';
import type { Json } from '../../../decisions/lib/json.ts';
import { anyJson } from './any-json.ts';

function edited(live: Json, patch: Json): { edits: Edit[]; after: Json } {
  const found = editsOf(live, patch);
  if ('lacks' in found) throw new Error(found.lacks);
  return { edits: found.edits, after: withEdits(live, found.edits) };
}

describe('a change that is undone', () => {
  test('leaves the object as it was before', () => {
    fc.assert(
      fc.property(anyJson(false), anyJson(true), (live, patch) => {
        const { edits, after } = edited(live, patch);
        const stored = JSON.parse(JSON.stringify(edits)) as Edit[];
        expect(undone(after, stored)).toEqual({ after: live, restored: edits.map(({ path }) => path), kept: [] });
      }),
    );
  });

  test('leaves what somebody has changed since, and restores all else', () => {
    fc.assert(
      fc.property(anyJson(false), anyJson(true), fc.nat(), (live, patch, which) => {
        const { edits, after } = edited(live, patch);
        fc.pre(edits.length > 0);
        const { path } = edits[which % edits.length]!;
        const theirs = { path, is: 'what a person has written' };
        const others = edits.filter((edit) => edit.path !== path);
        const { after: now, kept } = undone(withEdits(after, [theirs]), edits);
        expect(kept).toEqual([path]);
        expect(canonical(now)).toBe(canonical(withEdits(undone(after, others).after, [theirs])));
      }),
    );
  });

  test('is not undone in an item of a list that has gone', () => {
    const live = { disks: [{ name: 'root', cache: 'none' }, { name: 'data' }] };
    const { edits } = edited(live, { disks: [{ name: 'root', cache: null }] });
    const now = { disks: [{ name: 'data' }] };
    expect(undone(now, edits)).toEqual({ after: now, restored: [], kept: [edits[0]!.path] });
  });

  test('is undone where KubeVirt spells the value in another way', () => {
    const { edits } = edited({ memory: { guest: '1Gi' } }, { memory: { guest: '2048Mi' } });
    expect(undone({ memory: { guest: '2Gi' } }, edits).after).toEqual({ memory: { guest: '1Gi' } });
  });
});

const note = (id: string, size = 1): Parameters<typeof withChange>[1] => ({
  id,
  at: '2026-01-01T00:00:00Z',
  by: 'ada',
  edits: [{ path: ['spec', 'disks', { name: 'root' }, 'cache'], was: 'x'.repeat(size) }],
});
const idsOf = (text: string | undefined): string[] => changesOf(text).map(({ id }) => id);

describe('what a VM tells of its changes', () => {
  test('is the newest first, and few of them', () => {
    let text: string | undefined;
    for (let index = 1; index <= 7; index++) text = withChange(text, note(String(index)));
    expect(idsOf(text)).toEqual(['7', '6', '5', '4', '3']);
    expect(changesOf(text)[0]).toEqual(note('7'));
    expect(idsOf(withoutChange(text, '6')!)).toEqual(['7', '5', '4', '3']);
    expect(withoutChange(withChange(undefined, note('1')), '1')).toBeNull();
  });

  test('is bounded', () => {
    const text = withChange(withChange(undefined, note('1', 20_000)), note('2', 20_000));
    expect(idsOf(text)).toEqual(['2']);
    expect(changesOf(withChange(text, note('3', 40_000)))).toEqual([{ ...note('3'), edits: null }, note('2', 20_000)]);
  });

  test.each([
    [['metadata', 'ownerReferences'], [{}]],
    [['metadata', 'labels', 'drover.dev/pool'], 'web'],
    [['spec', 'template', 'metadata', 'labels', 'drover.dev/revision'], undefined],
    [['spec', 'runStrategy'], 'Halted'],
    [['spec'], { running: false }],
    [[], { spec: {} }],
  ])('is nothing if it would have %j set to %j', (path, was) => {
    const forged = { changes: [note('1'), { ...note('2'), edits: [{ path, was }] }] };
    expect(idsOf(JSON.stringify(forged))).toEqual(['1']);
  });

  test.each([undefined, '', '[]', '{"changes":1}', '{"changes":[{"id":"1"},{"id":1,"at":"","by":"","edits":[]}]}'])(
    'is nothing if it is %j',
    (text) => {
      expect(changesOf(text)).toEqual([]);
    },
  );
});
