import { expect, test } from 'vitest';
import { paged } from '../../../clients/dashboard/details/paged.ts';

const lines = Array.from({ length: 10_000 }, (_, index) => ({
  vm: `shop/web-${index + 1}`,
  end: index === 4_321 ? 'Failed' : 'Restarted',
  message: null,
}));
const asked = (...words: string[]) => {
  const { lines: shown, ...rest } = paged({ lines, notes: [] }, words);
  return { ...rest, of: shown.length, first: shown[0]?.vm };
};

test('the log of 10,000 VMs comes 200 lines at a time', () => {
  expect(asked()).toEqual({ page: 1, pages: 50, count: 10_000, of: 200, first: 'shop/web-1', notes: [] });
  expect(asked('2')).toMatchObject({ page: 2, first: 'shop/web-201' });
});

test('a page that there is not is the nearest that there is', () => {
  expect(asked('51')).toMatchObject({ page: 50, of: 200 });
  for (const none of ['0', '-3', 'x', '']) expect(asked(none)).toMatchObject({ page: 1 });
});

test('what is looked for may be a VM with its namespace, or how it ended', () => {
  expect(asked('1', 'failed')).toEqual({ page: 1, pages: 1, count: 1, of: 1, first: 'shop/web-4322', notes: [] });
  expect(asked('1', 'shop', 'web-9999')).toMatchObject({ count: 1, first: 'shop/web-9999' });
  expect(asked('1', 'nobody')).toMatchObject({ page: 1, pages: 1, count: 0, of: 0 });
});
