/**
 * Words of ERPs for the members and kinds of documents, in English, German, Danish and French. A
 * member that is not known is answered with the one that is meant, at all intake channels. Case,
 * signs and accents make no difference.
 */
import { meantNames, nearestName } from '../lib/nearest.ts';

/** Words for what a line has no members for, because its barcode and price tell it. */
const IN_BARCODE = `color colour colorName colorCode size sizeName style styleNo farbe grosse
    groesse farve storrelse couleur taille`;
const IN_PRICE = 'discount discountPercent rebate rabatt rabat remise';

/** Words for the reference of an order: a refund's own reference is another. */
const OF_ORDER = `orderNo orderNumber orderRef auftragsnummer bestellnummer ordrenummer ordrenr
    numeroCommande`;

/** Words for each member, with spaces between; a word may stand for several of them. */
const MEMBER_WORDS: Readonly<Record<string, string>> = {
  kind: 'type documentKind documentType docType art',
  payload: 'document data body content',
  orderReference: `order salesOrder originalOrder ${OF_ORDER}`,
  orderId: 'salesOrderId',
  reference: `ref id number documentNo documentNumber externalId externalReference
    customerReference poNumber purchaseOrder rma rmaNo belegnummer referenz ${OF_ORDER}`,
  lines: `line items lineItems orderLines orderLineItems refundLineItems positions rows entries
    articles products details positionen zeilen artikel linjer ordrelinjer varelinjer lignes`,
  barcode: `ean ean13 gtin upc sku code barcodeNo article articleNo articleNumber articleId item
    itemNo itemNumber itemCode itemId product productCode productNo productId variant variantId
    variantNo artikel artikelnummer artikelnr artnr strichcode vare varenummer varenr stregkode
    codeBarres ${IN_BARCODE}`,
  quantity: `qty quant amount orderedQty orderedQuantity pieces pcs count units number menge
    anzahl stuck stueck stk antal quantite qte nombre`,
  price: `unitPrice netPrice net wsp wspPrice wholesalePrice listPrice salesPrice cost rate value
    amount priceEach preis einzelpreis stuckpreis stueckpreis pris stykpris enhedspris prix
    prixUnitaire betrag belob montant ${IN_PRICE}`,
  shippingAddress: `address customer deliveryAddress shipTo shipToAddress recipient receiver
    consignee buyer client debtor lieferadresse anschrift adresse empfanger empfaenger kunde
    leveringsadresse modtager adresseLivraison destinataire`,
  firstName: 'name givenName forename contact vorname fornavn prenom',
  lastName: 'name surname familyName contact nachname familienname efternavn nom',
  address: 'street street1 address1 addressLine addressLine1 line1 strasse gade vej rue adresse',
  address2: 'street2 addressLine2 line2 adresszusatz',
  city: 'town place ort stadt by ville',
  zip: 'zipCode postalCode postcode plz postleitzahl postnummer postnr codePostal',
  countryCode: 'country countryIso iso land landkode landekode landercode laendercode pays',
  phone: 'telephone tel mobile phoneNumber telefon tlf',
  email: 'mail emailAddress epost courriel',
  company: 'companyName organisation organization firm shop store firma virksomhed societe',
  provinceCode: 'province state region county bundesland',
  accountNo: `customer customerNo customerNumber customerId account accountNumber accountId
    debtor debtorNo client clientNo kunde kundennummer kundennr debitor debitorennummer
    kundenummer kundenr kontonummer numeroClient`,
  freight: `shipping shippingCost shippingPrice carriage postage delivery versand versandkosten
    fracht fragt port frais`,
  amount: 'price cost value preis betrag pris belob prix montant',
  type: 'method carrier service freightType shippingMethod name art',
  parcelShopId: 'parcelShop pickupPoint servicePoint dropPoint paketshop pakkeshop pointRelais',
  warehouseCode: 'warehouse warehouseId location lager lagersted entrepot',
  seasonName: 'season collection saison saeson kollektion',
  deliveryName: `delivery deliveryWindow deliveryDate deliveryId drop dropName liefertermin
    lieferung levering livraison`,
  comment: `comments note notes remark remarks text message memo kommentar bemerkung notiz
    bemaerkning remarque commentaire`,
  currency: 'currencyCode curr cur wahrung waehrung valuta devise monnaie',
  refundType: 'type kind reason reasonCode returnType returnReason art grund arsag motif',
  restock: 'returnToStock backToStock putBack',
  orderRefundId: 'refund refundId returnId refundNo',
  status: 'state decision newStatus zustand tilstand etat',
  expectedStatus: 'expected from fromStatus oldStatus currentStatus',
  styleId: 'id',
  styleNo: 'style number modelNo model articleNo itemNo sku artikelnummer stylenummer modele',
  styleName: 'name title modelName bezeichnung navn nom',
  brandId: 'brand brandName label marke maerke marque',
  typeId: 'type typeName category group productGroup',
  genderId: 'gender sex genderName geschlecht kon',
  countryId: 'country countryCode countryOfOrigin origin land ursprungsland',
  designer: 'designerName createur',
  description: 'text longText details beschreibung beskrivelse',
  active: 'isActive enabled aktiv actif',
};

const KIND_WORDS: Readonly<Record<string, string>> = {
  order: `orders salesOrder preOrder purchaseOrder sale so auftrag bestellung ordre bestilling
    commande`,
  pending_refund: `refund refunds return returns credit creditNote creditMemo rma claim retoure
    gutschrift retur kreditnota avoir retour`,
  refund_status: 'refundDecision acceptRefund rejectRefund returnStatus',
  style: 'styles product products article item model artikel vare',
};

/** Words for what no document is about, with where it belongs. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'the table erp_customer (by SQL)': `customer customers account debtor creditLimit kunde debitor
    client erpCustomer`,
};

/** Reasons why a word stands for a member, where it does not mean the same. */
const NOTES: Readonly<Record<string, readonly [words: string, note: string]>> = {
  barcode: [IN_BARCODE, 'it tells style, color and size'],
  price: [IN_PRICE, 'it is the price after all discounts'],
};

function didYouMean(names: readonly string[]): string {
  return `; did you mean ${names.join(' or ')}?`;
}

function withNote(word: string, name: string, shown: string): string {
  const [words = '', note = ''] = NOTES[name] ?? [];
  const isNoted = meantNames(word, [note], { [note]: words }).length > 0;
  return isNoted ? `${shown} (${note})` : shown;
}

/** Members of one object of a document; `section` is empty for the document itself. */
export interface Section {
  readonly section: string;
  readonly names: readonly string[];
}

function named({ section }: Section, name: string): string {
  return section === '' ? `${name} at the top of the document` : `${name} in ${section}`;
}

/** Letters of the shortest word that may be a misspelt one of the table. */
const MISSPELT_CHARS_MIN = 5;

/** Lists members of these objects that a word stands for. */
function meantIn(
  word: string,
  names: readonly string[],
  show: (name: string) => string,
): readonly string[] {
  const meant = meantNames(word, names, MEMBER_WORDS);
  const own = meant.includes('orderReference')
    ? meant.filter((name) => name !== 'reference')
    : meant;
  return own.map((name) => withNote(word, name, show(name)));
}

/**
 * Hint on the member that an unknown one stands for: of the same object, else of another one, else
 * one of nearly this spelling.
 */
export function meantMember(
  word: string,
  known: readonly string[],
  others: readonly Section[] = [],
): string {
  const here = meantIn(word, known, (name) => name);
  if (here.length > 0) return didYouMean(here);
  const there = others.flatMap((one) => meantIn(word, one.names, (name) => named(one, name)));
  if (there.length > 0) return didYouMean(there);
  const near = nearestName(word, known);
  if (near !== undefined) return didYouMean([near]);
  const names = [known, ...others.map((one) => one.names)].flat();
  const words = names.flatMap((name) => [name, ...(MEMBER_WORDS[name]?.split(/\s+/) ?? [])]);
  const spelt = word.length < MISSPELT_CHARS_MIN ? undefined : nearestName(word, words);
  return spelt === undefined || spelt === word ? '' : meantMember(spelt, known, others);
}

/** Hint on the kind of document that an unknown one stands for. */
export function meantKind(word: string, kinds: readonly string[]): string {
  const meant = meantNames(word, kinds, KIND_WORDS);
  if (meant.length > 0) return didYouMean(meant);
  const near = nearestName(word, kinds);
  if (near !== undefined) return didYouMean([near]);
  const place = meantNames(word, Object.keys(ELSEWHERE), ELSEWHERE);
  return place.length === 0 ? '' : didYouMean(place);
}
