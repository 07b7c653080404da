import { expect, test } from 'vitest';
import { requesterAnnotation, requesterOf } from '../../api/requested-by.ts';

test('a requester annotation is valid only for its own revision', () => {
  const annotation = requesterAnnotation('ci: deploy of 42', '36f3500188');
  expect(requesterOf(annotation, '36f3500188')).toBe('ci: deploy of 42');
  expect(requesterOf(annotation, '0000000000')).toBeUndefined();
  expect(requesterOf(undefined, '36f3500188')).toBeUndefined();
});
