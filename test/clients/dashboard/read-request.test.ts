import { describe, expect, test } from 'vitest';
import { readActionRequest } from '../../../clients/dashboard/actions/read-request.ts';

const about = { kind: 'VirtualMachinePool', namespace: 'shop', name: 'web' };

describe('what a browser asks for', () => {
  test('is read if it names an action and an object of its kind', () => {
    const asked = { action: 'heal.now', about, vms: ['web-1'], reason: 'the disk is back' };
    expect(readActionRequest(asked)).toEqual(asked);
    const operation = { kind: 'ClusterVirtualMachineOperation', namespace: null, name: 'restart-1' };
    expect(readActionRequest({ action: 'operation.pause', about: operation })).toMatchObject({ about: operation });
  });

  test.each(['rollout.abort', 'rollout.undo'])('is refused for %s unless the name is typed', (action) => {
    expect(() => readActionRequest({ action, about })).toThrow('type the name web to confirm');
    expect(() => readActionRequest({ action, about, confirm: 'Web' })).toThrow('type the name web to confirm');
    expect(readActionRequest({ action, about, confirm: 'web' })).toMatchObject({ action });
  });

  test.each([
    null,
    7,
    [],
    {},
    { action: 'delete', about },
    { action: 'rollout.pause' },
    { action: 'rollout.pause', about: { ...about, kind: 'Secret' } },
    { action: 'operation.abort', about, confirm: 'web' },
    { action: 'rollout.pause', about: { ...about, name: '../secrets' } },
    { action: 'heal.now', about, vms: ['web-1', '../../x'] },
    { action: 'heal.now', about, vms: 'web-1' },
    { action: 'rollout.pause', about, reason: 'x'.repeat(2_000) },
    { action: 'rollout.pause', about, force: true },
  ])('is refused if it is %j', (body) => {
    expect(() => readActionRequest(body)).toThrow('this is not a request');
  });
});
