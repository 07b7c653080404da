import { describe, expect, test } from 'vitest';
import { MACHINE_TYPE_RESTART_LABEL, MACHINE_TYPE_TRANSITION_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import { beforeOfView, typePatch, type Before } from '../../../decisions/machine-types/type-patch.ts';
import { aVm } from '../fixtures/fleets.ts';

const TYPE = '/spec/template/spec/domain/machine/type';
const LABEL = '/metadata/labels/drover.dev~1machine-type-restart-required';
const ANNOTATION = '/metadata/annotations/drover.dev~1machine-type-transition';
const record = { id: '0a1b2c3d', from: 'pc-q35-rhel8.6.0', to: 'q35', vmiType: null, at: '2026-01-02T03:04:05Z' };
const old: Before = {
  uid: 'uid',
  machineType: 'pc-q35-rhel8.6.0',
  labelled: true,
  annotated: true,
  mark: null,
  record: null,
};

describe('a change of a machine type', () => {
  test('is made only to the same object with the same type, label and record', () => {
    expect(typePatch(old, { machineType: null, mark: record.id, record })).toEqual([
      { op: 'test', path: '/metadata/uid', value: 'uid' },
      { op: 'test', path: TYPE, value: 'pc-q35-rhel8.6.0' },
      { op: 'remove', path: TYPE },
      { op: 'test', path: LABEL, value: null },
      { op: 'add', path: LABEL, value: record.id },
      { op: 'test', path: ANNOTATION, value: null },
      { op: 'add', path: ANNOTATION, value: JSON.stringify(record) },
    ]);
  });

  test('leaves alone what it does not name', () => {
    expect(typePatch({ ...old, mark: 'other' }, { machineType: 'q35' })).toEqual([
      { op: 'test', path: '/metadata/uid', value: 'uid' },
      { op: 'test', path: TYPE, value: 'pc-q35-rhel8.6.0' },
      { op: 'replace', path: TYPE, value: 'q35' },
    ]);
  });

  test('adds labels if there are none, and replaces no labels that others add meanwhile', () => {
    const bare = typePatch({ ...old, labelled: false, annotated: false }, { mark: record.id, record });
    expect(bare).toContainEqual({ op: 'test', path: '/metadata/labels', value: null });
    expect(bare).toContainEqual({
      op: 'add',
      path: '/metadata/labels',
      value: { [MACHINE_TYPE_RESTART_LABEL]: record.id },
    });
    expect(bare).toContainEqual({
      op: 'add',
      path: '/metadata/annotations',
      value: { [MACHINE_TYPE_TRANSITION_ANNOTATION]: JSON.stringify(record) },
    });
  });

  test('clears a label that is there, and only that', () => {
    expect(typePatch({ ...old, mark: record.id }, { mark: null }).slice(2)).toEqual([
      { op: 'test', path: LABEL, value: record.id },
      { op: 'remove', path: LABEL },
    ]);
    expect(typePatch(old, { mark: null })).toHaveLength(2);
  });

  test('sets a type if there is none, in the object that holds it', () => {
    expect(typePatch({ ...old, machineType: null }, { machineType: 'q35' })).toContainEqual({
      op: 'add',
      path: '/spec/template/spec/domain/machine',
      value: { type: 'q35' },
    });
  });
});

test('the patch expects the VM as the cache has it', () => {
  expect(beforeOfView(aVm('vm', { transition: record, transitionMark: record.id, ownLabels: { a: 'b' } }))).toEqual({
    uid: 'uid-of-vm',
    machineType: 'pc-q35-rhel9.6.0',
    labelled: true,
    annotated: true,
    mark: record.id,
    record: JSON.stringify(record),
  });
});
