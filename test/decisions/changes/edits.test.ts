import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { editsOf, formatPath, withEdits, type Edit } from '../../../decisions/changes/edits.ts';
import { canonical } from '../../../decisions/lib/canonical-json.ts';
import { isObject, type Json } from '../../../decisions/lib/json.ts';
import { anyJson } from './any-json.ts';

/** As RFC 7386 has it. */
function merged(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result: Json = Object.assign(Object.create(null) as Json, isObject(target) ? target : {});
  for (const [key, value] of Object.entries(patch)) {
    const was = Object.hasOwn(result, key) ? result[key] : undefined;
    if (value === null) delete result[key];
    else
      Object.defineProperty(result, key, {
        value: merged(was, value),
        enumerable: true,
        writable: true,
        configurable: true,
      });
  }
  return result;
}

/** Objects that the patch has made and that hold nothing, for it took something away that was not there. */
const withoutEmpty = (value: unknown): unknown => {
  if (!isObject(value)) return value;
  const kept = Object.entries(value).map(([key, inner]) => [key, withoutEmpty(inner)] as const);
  return Object.fromEntries(kept.filter(([, inner]) => !isObject(inner) || Object.keys(inner).length > 0));
};

const done = (live: Json, patch: Json): { edits: Edit[]; after: Json } => {
  const found = editsOf(live, patch);
  if ('lacks' in found) throw new Error(found.lacks);
  return { edits: found.edits, after: withEdits(live, found.edits) };
};

const disks = (...items: Json[]): Json => ({ devices: { disks: items } });

describe('a change of an object', () => {
  test('does what a JSON merge patch does', () => {
    fc.assert(
      fc.property(anyJson(false), anyJson(true), (live, patch) => {
        expect(canonical(withoutEmpty(done(live, patch).after))).toBe(canonical(withoutEmpty(merged(live, patch))));
      }),
    );
  });

  test('changes nothing the second time', () => {
    fc.assert(
      fc.property(anyJson(false), anyJson(true), (live, patch) => {
        expect(done(done(live, patch).after, patch).edits).toEqual([]);
      }),
    );
  });

  test('leaves the object that it is given as it is', () => {
    fc.assert(
      fc.property(anyJson(false), anyJson(true), (live, patch) => {
        const before = canonical(live);
        done(live, patch);
        expect(canonical(live)).toBe(before);
      }),
    );
  });

  test('changes the list item of its name, and no other', () => {
    const live = disks({ name: 'root', bus: 'virtio' }, { name: 'data', cache: 'none' });
    const { edits, after } = done(live, disks({ name: 'root', cache: 'none' }));
    expect(after).toEqual(disks({ name: 'root', bus: 'virtio', cache: 'none' }, { name: 'data', cache: 'none' }));
    expect(edits.map(({ path }) => formatPath(path))).toEqual(['devices.disks[name=root].cache']);
  });

  test('does not apply to an object that lacks the item', () => {
    const live = disks({ name: 'data' });
    expect(editsOf(live, { a: 1, ...disks({ name: 'root', cache: 'none' }) })).toEqual({
      lacks: 'devices.disks[name=root]',
    });
  });

  test('does not apply to an object that has no such list', () => {
    expect(editsOf({}, disks({ name: 'root', cache: 'none' }))).toEqual({ lacks: 'devices.disks[name=root]' });
  });

  test('sets every other list as a whole', () => {
    expect(done({ list: [{ key: 'a' }] }, { list: [{ key: 'b' }] }).after).toEqual({ list: [{ key: 'b' }] });
    expect(done({ list: [{ name: 'a' }] }, { list: [{ name: 'b' }] }).after).toEqual({ list: [{ name: 'b' }] });
    expect(done({}, { list: [{ name: 'b' }] }).after).toEqual({ list: [{ name: 'b' }] });
  });

  test('sets an empty object if there was none, since KubeVirt has choices', () => {
    expect(done({}, { masquerade: {} }).after).toEqual({ masquerade: {} });
    expect(done({ masquerade: { a: 1 } }, { masquerade: {} }).edits).toEqual([]);
  });

  test('is reported value by value', () => {
    expect(done({ cpu: { cores: 1 } }, { cpu: { cores: null, model: 'host-model' } }).edits).toEqual([
      { path: ['cpu', 'cores'], was: 1 },
      { path: ['cpu', 'model'], is: 'host-model' },
    ]);
    expect(done({}, { domain: { cpu: { model: 'host-model' } } }).edits).toEqual([
      { path: ['domain', 'cpu', 'model'], is: 'host-model', had: 0 },
    ]);
  });

  test('is written with paths as users write them', () => {
    expect(formatPath(['metadata', 'labels', 'example.com/tier'])).toBe('metadata.labels[example.com/tier]');
  });
});
