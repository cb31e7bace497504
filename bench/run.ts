/** `npm run bench`: every benchmark of this folder, one after the other, with its figures. */
console.log('no benchmark yet');
