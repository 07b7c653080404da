import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CHANGES_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import { changesOf, withChange, type ChangeRecord } from '../../../decisions/changes/change-record.ts';
import { editsOf, withEdits, type Edit } from '../../../decisions/changes/edits.ts';
import { asStarted, undone, unkept } from '../../../decisions/changes/undo.ts';
import { wantedOf } from '../../../decisions/changes/wanted.ts';
import { canonical } from '../../../decisions/lib/canonical-json.ts';
import type { Json } from '../../../decisions/lib/json.ts';
import { recordedChanges } from '../../../decisions/views/annotations/recorded-change.ts';
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
        expect(unkept(after, stored)).toBeNull();
        expect(undone(after, stored)).toMatchObject({ after: live, kept: [] });
      }),
    );
  });

  test('is done again by an undo of the undo', () => {
    fc.assert(
      fc.property(anyJson(false), anyJson(true), (live, patch) => {
        const { edits, after } = edited(live, patch);
        const back = undone(after, JSON.parse(JSON.stringify(edits)) as Edit[]);
        expect(undone(back.after, JSON.parse(JSON.stringify(back.edits)) as Edit[])).toMatchObject({ after, kept: [] });
      }),
    );
  });

  test('is back at what a VMI was started from before the change, and no sooner', () => {
    fc.assert(
      fc.property(anyJson(false), anyJson(true), (spec, patch) => {
        const live = { spec };
        const { edits, after } = edited(live, { spec: patch });
        const back = undone(after, edits);
        expect(canonical(asStarted(back.after, back.edits, spec))).toBe(canonical(back.after));
        const differs = canonical(asStarted(after, edits, spec)) !== canonical(after);
        expect(differs).toBe(edits.length > 0);
      }),
    );
  });

  test('is known if the API server has kept less of it than was written', () => {
    fc.assert(
      fc.property(anyJson(false), anyJson(true), fc.nat(), (live, patch, which) => {
        const { edits, after } = edited(live, patch);
        fc.pre(edits.length > 0);
        const { path } = edits[which % edits.length]!;
        const theirs = { path, is: 'what a policy makes of it' };
        expect(unkept(withEdits(after, [theirs]), edits)).toEqual(path);
      }),
    );
  });

  test('keeps what a user has changed since, and restores all else', () => {
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

  test('is not undone in a list item that is gone', () => {
    const live = { disks: [{ name: 'root', cache: 'none' }, { name: 'data' }] };
    const { edits } = edited(live, { disks: [{ name: 'root', cache: null }] });
    const now = { disks: [{ name: 'data' }] };
    expect(undone(now, edits)).toEqual({ after: now, edits: [], kept: [edits[0]!.path] });
  });

  test('is undone if KubeVirt spells the value in another way', () => {
    const { edits } = edited({ memory: { guest: '1Gi' } }, { memory: { guest: '2048Mi' } });
    expect(undone({ memory: { guest: '2Gi' } }, edits).after).toEqual({ memory: { guest: '1Gi' } });
  });
});

const note = (id: string, size = 1): ChangeRecord => ({
  id,
  operation: `patch-${id}`,
  need: 'Restart',
  at: '2026-01-01T00:00:00Z',
  by: 'ada',
  edits: [{ path: ['spec', 'disks', { name: 'root' }, 'cache'], was: 'x'.repeat(size) }],
});
const on = (text: string | null | undefined) => (text == null ? undefined : { [CHANGES_ANNOTATION]: text });
const idsOf = (text: string | null | undefined): string[] => changesOf(on(text)).map(({ id }) => id);

describe('what a VM tells of its changes', () => {
  test('is the newest first, and few of them', () => {
    let text: string | null = null;
    for (let index = 1; index <= 7; index++) text = withChange(on(text), note(String(index)));
    expect(idsOf(text)).toEqual(['7', '6', '5', '4', '3']);
    expect(changesOf(on(text))[0]).toEqual(note('7'));
    expect(recordedChanges(on(text))[0]).toEqual({ id: '7', operation: 'patch-7', need: 'Restart' });
  });

  test('is bounded: older ones make room, and one that is too long on its own is left out', () => {
    const text = withChange(on(withChange(undefined, note('1', 20_000))), note('2', 20_000));
    expect(idsOf(text)).toEqual(['2']);
    expect(withChange(on(text), note('3', 40_000))).toBeNull();
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

  test.each([
    undefined,
    '',
    '[]',
    '{"changes":1}',
    '{"changes":[{"id":"1"},{"id":1,"operation":"","need":"Live","at":"","by":"","edits":[]}]}',
    '{"changes":[{"id":"1","operation":"a","need":"All","at":"","by":"","edits":[]}]}',
  ])('is nothing if it is %j', (text) => {
    expect(changesOf(on(text))).toEqual([]);
    expect(recordedChanges(on(text))).toEqual([]);
  });
});

const aVm = (hostname: string, ...changes: ChangeRecord[]) => ({
  metadata: { annotations: { [CHANGES_ANNOTATION]: JSON.stringify({ changes }) } },
  spec: { template: { spec: { hostname } } },
});

describe('what an operation means for a VM', () => {
  const path = ['spec', 'template', 'spec', 'hostname'];
  const was = (id: string, before: string, is: string): ChangeRecord => ({
    ...note(id),
    edits: [{ path, was: before, is }],
  });

  test('an undo concerns the newest change of that name, and does nothing to any other VM', () => {
    const vm = aVm('db', { ...was('2', 'two', 'db'), operation: 'patch-1' }, was('1', 'one', 'db'));
    expect(wantedOf(vm, { undo: 'patch-1' })).toMatchObject({ is: 'change', edits: [{ path, was: 'db', is: 'two' }] });
    expect(wantedOf(vm, { undo: 'patch-2' })).toEqual({ is: 'nothing' });
  });

  test('an undo keeps what a user has changed since, and says so', () => {
    const label = { path: ['metadata', 'labels', 'tier'], is: 'gold' };
    const both = { ...note('1'), edits: [{ path, was: 'one', is: 'db' }, label] };
    const why = 'it was changed since: ';
    expect(wantedOf(aVm('theirs', was('1', 'one', 'db')), { undo: 'patch-1' })).toEqual({
      is: 'skipped',
      message: `${why}spec.template.spec.hostname`,
    });
    expect(wantedOf(aVm('db', both), { undo: 'patch-1' })).toMatchObject({
      is: 'change',
      after: { spec: { template: { spec: { hostname: 'one' } } } },
      kept: `${why}metadata.labels.tier`,
    });
  });

  test('a patch does not apply to a VM that lacks an item, and does nothing to one that has it already', () => {
    const patch = { spec: { template: { spec: { volumes: [{ name: 'root' }] } } } };
    expect(wantedOf(aVm('db'), { patch })).toEqual({
      is: 'skipped',
      message: 'it has no spec.template.spec.volumes[name=root]',
    });
    expect(wantedOf(aVm('db'), { patch: aVm('db') as object as Json })).toMatchObject({ is: 'nothing' });
  });
});
