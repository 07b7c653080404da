import { MACHINE_TYPE_RESTART_LABEL, MACHINE_TYPE_TRANSITION_ANNOTATION } from '../../api/names.ts';
import type { Stored } from '../../api/objects.ts';
import type { VirtualMachine } from '../views/vm-from-object.ts';
import type { VmView } from '../views/vm.ts';
import type { TransitionRecord } from './transition.ts';

/** One operation of RFC 6902. */
export interface Operation {
  op: 'test' | 'add' | 'replace' | 'remove';
  path: string;
  value?: unknown;
}

/** What an object is expected to be: where it is another by now, the API server refuses the whole patch. */
export interface Before {
  uid: string;
  machineType: string | null;
  /** Whether it has any; a key can be added to no map that is not there. */
  labelled: boolean;
  annotated: boolean;
  /** The transition's id in its label. */
  mark: string | null;
  /** The record in its annotation, as it is written there. */
  record: string | null;
}

export interface TypeChange {
  /** Undefined: its type stays as it is; null: it is cleared. */
  machineType?: string | null;
  /** Id of the transition for whose restart it waits; undefined: the label stays as it is; null: it goes. */
  mark?: string | null;
  record?: TransitionRecord;
}

export const VM_MACHINE_TYPE = '/spec/template/spec/domain/machine/type';
/** In a pool, whose template holds a VM. */
export const POOL_MACHINE_TYPE = '/spec/template/spec/template/spec/domain/machine/type';

export const beforeOfView = (vm: VmView): Before => ({
  uid: vm.uid,
  machineType: vm.machineType,
  labelled: Object.keys(vm.ownLabels).length > 0,
  annotated: vm.annotated,
  mark: vm.transitionMark,
  record: vm.transition === null ? null : JSON.stringify(vm.transition),
});

/** As the API server has it: also a record that nobody can read is tested for. */
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

export const isSame = (one: Before, other: Before): boolean => JSON.stringify(one) === JSON.stringify(other);

/** Makes the change of exactly the object that is expected, and of no other. */
export function typePatch(before: Before, change: TypeChange, typePath = VM_MACHINE_TYPE): Operation[] {
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

function typeOperation(to: string | null, from: string | null, path: string): Operation {
  if (to === null) return { op: 'remove', path };
  // What holds the type may be missing too, and holds nothing else.
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
): Operation[] {
  const mapPath = `/metadata/${map}`;
  const path = `${mapPath}/${key.replace('/', '~1')}`;
  // What is not there equals null. A whole map is put there only where there is none: it would take the place of
  // another's.
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
