import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fnv1a, isInPortion, portionOf, portionsOf } from '../../../decisions/shards/portion.ts';

const numbered = (prefix: string, count: number, width = 0): string[] =>
  Array.from({ length: count }, (_, i) => `${prefix}${String(i + 1).padStart(width, '0')}`);

test.each([
  ['', 0xcbf29ce484222325n],
  ['a', 0xaf63dc4c8601ec8cn],
  ['b', 0xaf63df4c8601f1a5n],
  ['foo', 0xdcb27518fed9d577n],
  ['foobar', 0x85944171f73967e8n],
])('the hash of %j is the published one of 64-bit FNV-1a', (text, hash) => expect(fnv1a(text)).toBe(hash));

describe('shards', () => {
  test.each([8, 32])('of %i spread namespaces whose names end in numbers', (shards) => {
    for (const names of [numbered('team-', 99, 2), numbered('ns-', 200, 3), numbered('customer-', 2_000, 4)]) {
      const sizes = new Map<number | undefined, number>();
      for (const name of names) {
        const { shard } = portionOf(name, shards);
        sizes.set(shard, (sizes.get(shard) ?? 0) + 1);
      }
      const even = names.length / shards;
      expect(Math.max(...sizes.values())).toBeLessThanOrEqual(Math.ceil(even) + 3 * Math.sqrt(even) + 1);
    }
  });

  test('have each namespace, and what is in none, in exactly one portion', () => {
    fc.assert(
      fc.property(
        fc.option(fc.string({ minLength: 1 }), { nil: undefined }),
        fc.integer({ min: 1, max: 64 }),
        (namespace, shards) => {
          expect(portionsOf(shards).filter((portion) => isInPortion(portion, namespace))).toHaveLength(1);
        },
      ),
    );
  });
});
