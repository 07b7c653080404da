import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import type { NodeReportItem } from '../../../clients/drain/node-report.ts';
import { blockOf } from '../../../clients/drain/node-status.ts';

const item = (name: string, state: NodeReportItem['state'], message: string): NodeReportItem => ({
  namespace: 'shop',
  name,
  owner: null,
  state,
  message,
  isKept: false,
  act: null,
  maxUnavailable: null,
});
const linesOf = (...items: NodeReportItem[]): string[] =>
  blockOf({ node: 'worker-7', isDrained: true, reason: null, shutDown: null, items }).map((line) =>
    stripVTControlCharacters(line).replaceAll(/ {3,}/g, ' | '),
  );

test('the view of a node counts what leaves it, what waits and what needs a user', () => {
  const items = [
    item('db-0', 'Blocked', 'stays'),
    item('web-2', 'Evacuating', 'migrates (attempt 1)'),
    item('web-5', 'Budget', 'waits'),
    item('web-6', 'NotAsked', 'is moved once its pod is to be evicted'),
  ];
  expect(linesOf(...items).slice(0, 3)).toEqual([
    'worker-7  4 VMIs left: 1 in progress, 2 to go, 1 stuck',
    'NAMESPACE | VMI | OWNER | STATE | WHAT HAPPENS',
    'shop | db-0 | <none> | Blocked | stays',
  ]);
  expect(linesOf(items[0]!)[0]).toBe('worker-7  1 VMI left: 1 stuck');
  expect(linesOf()).toEqual(['no VMI is on node worker-7']);
});
