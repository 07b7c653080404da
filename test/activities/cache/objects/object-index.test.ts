import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ObjectIndex } from '../../../../activities/cache/objects/object-index.ts';

interface Thing {
  namespace: string;
  name: string;
  owners: string[];
}

const NAMESPACES = ['here', 'there'] as const;
const OWNERS = ['one', 'two'] as const;

test('the index lists exactly the objects of each owner in its namespace, whatever was added, moved or deleted', () => {
  const namespace = fc.constantFrom(...NAMESPACES);
  const name = fc.constantFrom('a', 'b', 'c', 'd');
  const owners = fc.subarray([...OWNERS]);
  const change = fc.record({ namespace, name, after: fc.option(fc.record({ owners }), { nil: undefined }) });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
      const things = new Map<string, Thing>();
      const index = new ObjectIndex<Thing>(({ namespace, owners }) => owners.map((owner) => `${namespace}/${owner}`));
      for (const { namespace, name, after: change } of changes) {
        const key = `${namespace}/${name}`;
        const before = things.get(key);
        const after = change && { namespace, name, owners: change.owners };
        if (after) things.set(key, after);
        else things.delete(key);
        index.change(before, after);
        for (const within of NAMESPACES)
          for (const uid of OWNERS) {
            const own = [...things.values()].filter(
              (thing) => thing.namespace === within && thing.owners.includes(uid),
            );
            expect(new Set(index.of(`${within}/${uid}`))).toEqual(new Set(own));
          }
      }
    }),
  );
});
