/** Main program of the process that runs the doctor's checks (beside.ts starts it). */

import { constants } from 'node:os';
import { takeJob } from '../../lib/process/job.ts';
import type { DoctorRequest } from './beside.ts';
import { examine } from './doctor.ts';
import type { Finding } from './finding.ts';

const { PRIORITY_BELOW_NORMAL } = constants.priority;
const { config, warnings, now } = await takeJob<DoctorRequest>(PRIORITY_BELOW_NORMAL);
const found: Finding[] = [];
for await (const finding of examine({ loaded: { config, warnings }, now, network: undefined })) {
  found.push(finding);
}
process.stdout.write(JSON.stringify(found));
