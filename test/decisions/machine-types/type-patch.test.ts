import { describe, expect, test } from 'vitest';
import { MACHINE_TYPE_RESTART_LABEL, MACHINE_TYPE_TRANSITION_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import { typePatch } from '../../../decisions/machine-types/type-patch.ts';

const record = { id: '0a1b2c3d', from: 'pc-q35-rhel8.6.0', to: 'q35', vmiType: null, at: '2026-01-02T03:04:05Z' };
const read = { uid: 'uid', resourceVersion: '7' };

describe('a change of a machine type', () => {
  test('is made only to the VM in the version that was read', () => {
    expect(typePatch(read, { machineType: null, label: record.id, record })).toEqual({
      metadata: {
        uid: 'uid',
        resourceVersion: '7',
        labels: { [MACHINE_TYPE_RESTART_LABEL]: record.id },
        annotations: { [MACHINE_TYPE_TRANSITION_ANNOTATION]: JSON.stringify(record) },
      },
      spec: { template: { spec: { domain: { machine: { type: null } } } } },
    });
  });

  test('leaves alone what it does not name', () => {
    expect(typePatch({ uid: 'uid' }, { label: null })).toEqual({
      metadata: { uid: 'uid', labels: { [MACHINE_TYPE_RESTART_LABEL]: null } },
    });
  });
});
