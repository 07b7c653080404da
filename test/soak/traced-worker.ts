import { TRACE } from './requests.ts';
import { traceRequests } from './trace.ts';

traceRequests(process.env[TRACE]!, 'worker');
await import('../../workers/main.ts');
