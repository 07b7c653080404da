import { describe, expect, test } from 'vitest';
import { growthOf, requestFor } from '../../../decisions/disks/claim-growth.ts';

const asking = (storage: string) => ({ spec: { resources: { requests: { storage } } } });

describe('what a claim asks for', () => {
  test.each([
    ['the new size, if it asks for the old one', '10Gi', '10Gi', '20Gi', '20Gi'],
    [
      'the same share more than the template, if CDI asked for more',
      '11Gi',
      '10Gi',
      '20Gi',
      String(22n * 2n ** 30n + 1n),
    ],
    ['no more, if it has been asked already', '20Gi', '10Gi', '20Gi', null],
    ['no more, also with its share', '22Gi', '10Gi', '20Gi', null],
    ['never less than it does', '30Gi', null, '20Gi', null],
    ['the new size, if the template named none', '10Gi', null, '20Gi', '20Gi'],
  ])('%s', (_title, asked, from, to, request) => {
    expect(requestFor(asking(asked), from, to)).toBe(request);
  });
});

const claim = (capacity: string, conditions: object[] = [], more: object = {}) => ({
  ...asking('2Gi'),
  status: { capacity: { storage: capacity }, conditions, ...more },
});
const condition = (type: string, message: string): object => ({ type, status: 'True', message });

describe('a claim that is to grow', () => {
  test('has grown once its volume has', () => {
    expect(growthOf(claim('1Gi'), '2Gi')).toEqual({ state: 'growing', message: null });
    expect(growthOf(claim('2048Mi'), '2Gi')).toEqual({ state: 'grown' });
    expect(
      growthOf(claim('1Gi', [condition('FileSystemResizePending', 'Waiting for user to (re-)start a pod')]), '2Gi'),
    ).toEqual({ state: 'grown' });
  });

  test('has not grown if the storage says so, and the reason is shown while it tries', () => {
    const error = condition('ControllerResizeError', 'no space left');
    expect(growthOf(claim('1Gi', [error]), '2Gi')).toEqual({ state: 'growing', message: 'no space left' });
    const infeasible = { allocatedResourceStatuses: { storage: 'ControllerResizeInfeasible' } };
    expect(growthOf(claim('1Gi', [error], infeasible), '2Gi')).toEqual({ state: 'refused', message: 'no space left' });
    expect(growthOf(claim('1Gi', [], infeasible), '2Gi')).toEqual({
      state: 'refused',
      message: 'the storage cannot give it that size',
    });
  });
});
