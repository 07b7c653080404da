import { writeFileSync } from 'node:fs';
import { bundleWorkflowCode } from '@temporalio/worker';
import { workflowsPath } from './workflows-path.ts';

// Bundles the workflows ahead, into the file that is named: a worker that is given it by DROVER_WORKFLOW_BUNDLE starts sooner,
// and needs no place to write, where the bundler unpacks programs of its own.
const [, , file] = process.argv;
if (file === undefined) throw new Error('node workers/bundle.ts FILE');
const { code } = await bundleWorkflowCode({ workflowsPath });
writeFileSync(file, code);
