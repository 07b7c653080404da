import fc from 'fast-check';
import { expect, test } from 'vitest';
import { withNamespaces } from '../../../decisions/runs/namespaces.ts';

test('a namespace is listed once, and a list of all namespaces stays the same', () => {
  const known = withNamespaces([], ['shop/web-1', 'shop/web-2', 'other/vm']);
  expect(known).toEqual(['shop', 'other']);
  expect(withNamespaces(known, ['other/another'])).toBe(known);
});

test('a list is complete, or null for ever, and never larger than Temporal accepts', () => {
  const name = fc.string({ minLength: 1, maxLength: 63, unit: fc.constantFrom('a', 'b', '-') });
  fc.assert(
    fc.property(fc.array(fc.array(name, { maxLength: 20 }), { maxLength: 20 }), (turns) => {
      let known: string[] | null = [];
      const all = new Set<string>();
      for (const namespaces of turns) {
        for (const namespace of namespaces) all.add(namespace);
        const before = known;
        known = withNamespaces(
          known,
          namespaces.map((namespace) => `${namespace}/vm`),
        );
        if (before === null) expect(known).toBeNull();
      }
      if (known === null) expect(JSON.stringify([...all]).length).toBeGreaterThan(1_500);
      else {
        expect(new Set(known)).toEqual(all);
        expect(JSON.stringify(known).length).toBeLessThan(2_048);
      }
    }),
  );
});
