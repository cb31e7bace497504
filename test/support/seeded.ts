/** Gives each property the same examples in every run, as all tests are deterministic. */
import fc from 'fast-check';

fc.configureGlobal({ seed: 20_261_128 });
