import { defineSignal } from '@temporalio/workflow';

export const finish = defineSignal('finish');
