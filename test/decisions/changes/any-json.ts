import fc from 'fast-check';
import type { Json } from '../../../decisions/lib/json.ts';

const KEYS = fc.constantFrom('a', 'b', 'name', 'list', '__proto__', 'constructor');
const LEAF = fc.oneof(fc.integer(), fc.string(), fc.boolean());

/** Objects of any shape; `hasNulls`: as patches have them. */
export const anyJson = (hasNulls: boolean): fc.Arbitrary<Json> =>
  fc.letrec<{ value: unknown; object: Json }>((tie) => ({
    object: fc.dictionary(KEYS, tie('value'), { maxKeys: 4 }),
    value: fc.oneof(
      { maxDepth: 4 },
      hasNulls ? fc.oneof(LEAF, fc.constant(null)) : LEAF,
      fc.array(LEAF, { maxLength: 3 }),
      tie('object'),
    ),
  })).object;
