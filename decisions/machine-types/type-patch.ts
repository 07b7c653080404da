import { MACHINE_TYPE_RESTART_LABEL, MACHINE_TYPE_TRANSITION_ANNOTATION } from '../../api/labels-and-annotations.ts';
import type { TransitionRecord } from '../views/annotations/transition-record.ts';

export interface TypeChange {
  /** Undefined: the type stays as it is; null: it is cleared. */
  machineType?: string | null | undefined;
  /** Id of the transition for whose restart the VM waits; undefined: the label stays as it is; null: it is removed. */
  label?: string | null | undefined;
  record?: TransitionRecord | undefined;
}

interface Meant {
  uid: string;
  resourceVersion?: string;
}

/** A merge patch of a VM, which tests that it is the VM that was meant, and in the version that was read if given. */
interface TypePatch {
  metadata: Meant & Partial<Record<'labels' | 'annotations', Record<string, string | null>>>;
  spec?: object;
}

export const typePatch = ({ uid, resourceVersion }: Meant, { machineType, label, record }: TypeChange): TypePatch => ({
  metadata: {
    uid,
    ...(resourceVersion !== undefined && { resourceVersion }),
    ...(label !== undefined && { labels: { [MACHINE_TYPE_RESTART_LABEL]: label } }),
    ...(record !== undefined && {
      annotations: { [MACHINE_TYPE_TRANSITION_ANNOTATION]: JSON.stringify(record) },
    }),
  },
  ...(machineType !== undefined && { spec: { template: { spec: { domain: { machine: { type: machineType } } } } } }),
});
