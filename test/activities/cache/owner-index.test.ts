import fc from 'fast-check';
import { expect, test } from 'vitest';
import { OwnerIndex } from '../../../activities/cache/owner-index.ts';

interface Thing {
  name: string;
  owner: string | null;
}

test('lists exactly the objects of each owner after any sequence of additions, owner changes and deletions', () => {
  const name = fc.constantFrom('a', 'b', 'c', 'd');
  const owner = fc.constantFrom('one', 'two', null);
  const change = fc.record({ name, after: fc.option(fc.record({ owner }), { nil: undefined }) });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
      const things = new Map<string, Thing>();
      const index = new OwnerIndex<Thing>((thing) => thing.owner);
      for (const change of changes) {
        const before = things.get(change.name);
        const after = change.after && { name: change.name, owner: change.after.owner };
        if (after) things.set(after.name, after);
        else things.delete(change.name);
        index.change(before, after);
        for (const uid of ['one', 'two']) {
          const own = [...things.values()].filter((thing) => thing.owner === uid);
          expect(new Set(index.of(uid))).toEqual(new Set(own));
        }
      }
    }),
  );
});
