import type { VmView } from '../vm.ts';
import type { VmiView } from '../vmi.ts';
import type { TransitionRecord } from './transition.ts';

/**
 * What a VM is to carry of a transition that changes it from `vm` to the type `to`, or marks it (`to` is its own type then). One
 * whose guest still waits for what an earlier transition has changed is recorded with the type of before that, so that it can be undone.
 */
export declare function newRecord(vm: VmView, vmi: VmiView | undefined, change: Pick<TransitionRecord, 'id' | 'to' | 'at'>): TransitionRecord;
