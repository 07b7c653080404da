import { describe, expect, test } from 'vitest';
import { admitMigration, admitVmi, admitVm, answered, denied, Denied } from '../../../simulator/api/admission.ts';
import type { VirtualMachineInstance } from '../../../simulator/objects/kubevirt.ts';
import { aVmi, aVm } from '../simulated.ts';

const review = (operation: string, object: unknown, oldObject?: unknown) => ({
  request: { uid: 'review-uid', operation, object, oldObject },
});

type Given = Parameters<typeof admitVm>;
const filled = (object: unknown, kubevirt: Given[1]) => admitVm(review('UPDATE', object), kubevirt).at(-1)?.value;

describe('admission', () => {
  const bare = {
    ...aVm(),
    spec: { runStrategy: 'Always' as const, template: { spec: { domain: { devices: {} } } } },
  };

  test('fills in what a new VM leaves open', () => {
    expect(admitVm(review('CREATE', bare), undefined)).toEqual([
      { op: 'add', path: '/spec/template/spec/architecture', value: 'amd64' },
      { op: 'add', path: '/spec/template/spec/domain/machine', value: { type: 'q35' } },
      {
        op: 'add',
        path: '/spec/template/metadata',
        value: { annotations: { 'kubevirt.io/pci-topology-version': 'v3' } },
      },
      {
        op: 'add',
        path: '/spec/template/spec/domain/firmware',
        value: { uuid: expect.stringMatching(/^[0-9a-f-]{36}$/), serial: expect.stringMatching(/^[0-9a-f-]{36}$/) },
      },
      { op: 'add', path: '/metadata/finalizers', value: ['kubevirt.io/virtualMachineControllerFinalize'] },
    ]);
  });

  test('fills in a machine type that was removed', () => {
    expect(admitVm(review('UPDATE', bare, aVm()), undefined)).toEqual([
      { op: 'add', path: '/spec/template/spec/architecture', value: 'amd64' },
      { op: 'add', path: '/spec/template/spec/domain/machine', value: { type: 'q35' } },
    ]);
  });

  test("fills in the machine type of the cluster, then that of the VMI's architecture", () => {
    const configuration = {
      architectureConfiguration: {
        amd64: { machineType: 'pc-q35-rhel9.2.0' },
        arm64: { machineType: 'virt-rhel9.2.0' },
      },
    };
    const kubevirt = { metadata: { name: 'kubevirt' }, spec: { configuration } };
    const ofAll = { ...kubevirt, spec: { configuration: { ...configuration, machineType: 'pc-q35-rhel9.6.0' } } };
    const arm = {
      ...bare,
      spec: { ...bare.spec, template: { spec: { domain: { devices: {} }, architecture: 'arm64' } } },
    };
    const typed = {
      ...bare,
      spec: { ...bare.spec, template: { spec: { domain: { devices: {}, machine: { type: 'q35' } } } } },
    };
    expect(filled(bare, ofAll)).toEqual({ type: 'pc-q35-rhel9.6.0' });
    expect(filled(bare, kubevirt)).toEqual({ type: 'pc-q35-rhel9.2.0' });
    expect(filled(arm, kubevirt)).toEqual({ type: 'virt-rhel9.2.0' });
    expect(filled(arm, undefined)).toEqual({ type: 'virt' });
    expect(filled(typed, ofAll)).toEqual({ type: 'q35' });
  });

  test("drops what others write about a VMI's state", () => {
    expect(admitVmi(review('UPDATE', aVmi('Failed'), aVmi('Running')))).toEqual([
      { op: 'add', path: '/status', value: { phase: 'Running' } },
    ]);
  });

  test("gives a migration KubeVirt's label and finalizer, and refuses another one of a VMI", () => {
    const migration = { metadata: { name: 'm', namespace: 'default', uid: 'm-uid' }, spec: { vmiName: 'web-1' } };
    expect(admitMigration(review('CREATE', migration), aVmi('Running'), undefined)).toEqual([
      {
        op: 'add',
        path: '/metadata',
        value: {
          ...migration.metadata,
          labels: { 'kubevirt.io/vmi-name': 'web-1' },
          finalizers: ['kubevirt.io/migrationJobFinalize'],
        },
      },
    ]);
    const other = { ...migration, metadata: { ...aVm().metadata, uid: 'other' } };
    const refused = () => admitMigration(review('CREATE', migration), aVmi('Running'), other);
    expect(refused).toThrow(/^in-flight migration detected. Active migration job \(other\)/);
    expect(denied(review('CREATE', migration), new Denied('no'))).toMatchObject({
      response: { uid: 'review-uid', allowed: false, status: { message: 'no' } },
    });
  });

  test('refuses a migration of a VMI that is gone, has ended or cannot be migrated', () => {
    const migration = { metadata: { name: 'm', namespace: 'default' }, spec: { vmiName: 'web-1' } };
    const refusal = (vmi: VirtualMachineInstance | undefined) => () =>
      admitMigration(review('CREATE', migration), vmi, undefined);
    expect(refusal(undefined)).toThrow('the VMI "default/web-1" does not exist');
    expect(refusal(aVmi('Succeeded'))).toThrow('Cannot migrate VMI in finalized state.');
    const fixed = {
      type: 'LiveMigratable',
      status: 'False',
      reason: 'DisksNotLiveMigratable',
      message: 'rwo',
    } as const;
    expect(refusal(aVmi('Running', { conditions: [fixed] }))).toThrow(
      'Cannot migrate VMI, Reason: DisksNotLiveMigratable, Message: rwo',
    );
  });

  test('answers with a review', () => {
    const answer = answered(review('UPDATE', bare), [{ op: 'remove', path: '/status' }]);
    const { response } = answer as { response: { uid: string; allowed: boolean; patch: string } };
    expect(response).toMatchObject({ uid: 'review-uid', allowed: true });
    expect(JSON.parse(Buffer.from(response.patch, 'base64').toString())).toEqual([{ op: 'remove', path: '/status' }]);
  });
});
