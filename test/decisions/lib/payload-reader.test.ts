import { expect, test, vi } from 'vitest';
import { readAnnotation } from '../../../decisions/lib/payload-reader.ts';

test('an annotation that is not there is not read, which would throw and catch an error for each VM', () => {
  const read = vi.fn<() => string>();
  expect(readAnnotation(undefined, read)).toBeNull();
  expect(read).not.toHaveBeenCalled();
});
