import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hrefOf, idOf, routeOf } from '../../../../clients/dashboard/page/pure/route.ts';
import { clockOf, distanceOf, lengthOf } from '../../../../clients/dashboard/page/pure/times.ts';

describe('an address', () => {
  test('leads to the object whose it is, whatever its name', () => {
    const name = fc.string({ minLength: 1 });
    fc.assert(
      fc.property(fc.constantFrom('pool', 'vmrs', 'vmirs'), name, name, (kind, namespace, name) => {
        fc.pre(!namespace.includes('/') && !name.includes('/'));
        expect(routeOf(hrefOf(`${kind}/${namespace}/${name}`))).toMatchObject({
          view: 'owner',
          id: `${kind}/${namespace}/${name}`,
        });
      }),
    );
  });

  test('has the page, the form and what is looked for', () => {
    expect(routeOf('#/pool/default/web?page=3&as=table')).toEqual({
      view: 'owner',
      id: 'pool/default/web',
      page: 3,
      isTable: true,
    });
    expect(routeOf(hrefOf('', { find: 'web & db', namespace: '' }))).toEqual({
      view: 'fleet',
      find: 'web & db',
      namespace: '',
    });
  });

  test.each(['#/pool', '#/nothing', '#/vm/default', '#/pool/%E0%A4%A', '#/schedules/x'])(
    '%s breaks nothing',
    (hash) => {
      expect(['unknown', 'owner']).toContain(routeOf(hash).view);
    },
  );

  test('with a page that is no number leads to the first', () => {
    expect(routeOf('#/pool/default/web?page=x')).toMatchObject({ page: 1 });
    expect(routeOf('#/pool/default/web?page=-2')).toMatchObject({ page: 1 });
  });

  test('of an object of a kind that is not shown is none', () => {
    expect(idOf({ kind: 'Node', namespace: null, name: 'node-1' })).toBe('node/node-1');
    expect(idOf({ kind: 'KubeVirt', namespace: 'kubevirt', name: 'kubevirt' })).toBeNull();
  });
});

describe('a time', () => {
  const now = Date.parse('2026-11-27T16:00:00Z');

  test('is told in one unit, before or after now', () => {
    expect(distanceOf(now - 45_000, now)).toBe('45 s ago');
    expect(distanceOf(now + 12 * 60_000, now)).toBe('in 12 min');
    expect(distanceOf(now + 500, now)).toBe('now');
    expect([100_000, 3 * 3_600_000, 50 * 3_600_000].map(lengthOf)).toEqual(['1 min', '3 h', '2 d']);
  });

  test('that is none breaks nothing', () => {
    expect(distanceOf(NaN, now)).toBe('at an unknown time');
    expect(clockOf(NaN)).toBe('');
  });
});
