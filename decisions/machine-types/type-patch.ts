import { MACHINE_TYPE_RESTART_LABEL, MACHINE_TYPE_TRANSITION_ANNOTATION } from '../../api/labels-and-annotations.ts';
import type { PatchOperation, Stored } from '../../api/objects.ts';
import type { TransitionRecord } from '../annotations/transition-record.ts';
import type { VirtualMachine } from '../views/from-object/vm.ts';
import type { VmView } from '../views/vm.ts';

/** The expected state of an object: if it has changed, the API server refuses the whole patch. */
export interface Before {
  uid: string;
  machineType: string | null;
  /** Whether the object has any labels or annotations; a patch can't add a key to a missing map. */
  labelled: boolean;
  annotated: boolean;
  /** The transition id in the object's label. */
  mark: string | null;
  /** The record in the object's annotation, verbatim. */
  record: string | null;
}

export interface TypeChange {
  /** Undefined: the type stays as it is; null: it is cleared. */
  machineType?: string | null;
  /** Id of the transition for whose restart the VM waits; undefined: the label stays as it is; null: it is removed. */
  mark?: string | null;
  record?: TransitionRecord;
}

const VM_MACHINE_TYPE = '/spec/template/spec/domain/machine/type';
/** The path in a pool, whose template holds a VM. */
export const POOL_MACHINE_TYPE = '/spec/template/spec/template/spec/domain/machine/type';

export const beforeOfView = (vm: VmView): Before => ({
  uid: vm.uid,
  machineType: vm.machineType,
  labelled: Object.keys(vm.ownLabels).length > 0,
  annotated: vm.annotated,
  mark: vm.transitionMark,
  record: vm.transition === null ? null : JSON.stringify(vm.transition),
});

/** The state as the API server has it, so that the patch tests for an unreadable record too. */
export const beforeOf = ({ metadata, spec }: Stored<VirtualMachine>): Before => ({
  ...beforeOfMeta(metadata),
  machineType: spec?.template?.spec?.domain?.machine?.type ?? null,
});

export const beforeOfMeta = ({
  uid,
  labels,
  annotations,
}: Pick<Stored['metadata'], 'uid' | 'labels' | 'annotations'>): Omit<Before, 'machineType'> => ({
  uid,
  labelled: labels !== undefined,
  annotated: annotations !== undefined,
  mark: labels?.[MACHINE_TYPE_RESTART_LABEL] ?? null,
  record: annotations?.[MACHINE_TYPE_TRANSITION_ANNOTATION] ?? null,
});

export const isSame = (a: Before, b: Before): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Returns a patch that applies the change to exactly the expected object, and to no other. */
export function typePatch(before: Before, change: TypeChange, typePath = VM_MACHINE_TYPE): PatchOperation[] {
  const { uid, machineType, labelled, annotated, mark, record } = before;
  return [
    { op: 'test', path: '/metadata/uid', value: uid },
    ...(machineType === null ? [] : [{ op: 'test', path: typePath, value: machineType } as const]),
    ...(change.machineType === undefined ? [] : [typeOperation(change.machineType, machineType, typePath)]),
    ...(change.mark === undefined ? [] : entry('labels', MACHINE_TYPE_RESTART_LABEL, labelled, mark, change.mark)),
    ...(change.record === undefined
      ? []
      : entry('annotations', MACHINE_TYPE_TRANSITION_ANNOTATION, annotated, record, JSON.stringify(change.record))),
  ];
}

function typeOperation(to: string | null, from: string | null, path: string): PatchOperation {
  if (to === null) return { op: 'remove', path };
  // The object that holds the type may be missing too, and holds nothing else.
  return from === null
    ? { op: 'add', path: path.slice(0, path.lastIndexOf('/')), value: { type: to } }
    : { op: 'replace', path, value: to };
}

function entry(
  map: 'labels' | 'annotations',
  key: string,
  hasMap: boolean,
  from: string | null,
  to: string | null,
): PatchOperation[] {
  const mapPath = `/metadata/${map}`;
  const path = `${mapPath}/${key.replace('/', '~1')}`;
  // A `test` for null succeeds on a missing path. The whole map is added only if there is none: otherwise it would
  // replace another's.
  if (!hasMap)
    return to === null
      ? []
      : [
          { op: 'test', path: mapPath, value: null },
          { op: 'add', path: mapPath, value: { [key]: to } },
        ];
  if (to === null)
    return from === null
      ? []
      : [
          { op: 'test', path, value: from },
          { op: 'remove', path },
        ];
  return [
    { op: 'test', path, value: from },
    { op: 'add', path, value: to },
  ];
}
