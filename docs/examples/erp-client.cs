// A client of exchange.db, with Microsoft.Data.Sqlite and System.Text.Json. C# 7 is enough, so it
// compiles for the .NET Framework as well.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Text.Json;
using Microsoft.Data.Sqlite;

// What the ERP has already, under names of its own.
public interface ILine { string Barcode { get; } int Quantity { get; } decimal Price { get; } }

public interface IOrder
{
    string Number { get; }
    IEnumerable<ILine> Lines { get; }
    string State { set; }
    string RemoteNumber { set; }
    string Remark { set; }
}

public interface IDelivery { string Decision { set; } string Remark { set; } }

public interface IErp
{
    long LastOutcome { get; set; }
    IDelivery Delivery(long id, string orderNumber, string deliveryNumber);
}

public sealed class SelvedgeClient : IDisposable
{
    private readonly SqliteConnection connection;

    // The default timeout, in seconds, is how long a statement waits for the lock.
    public SelvedgeClient(string path)
    {
        connection = new SqliteConnection(
            "Data Source=" + path + ";Mode=ReadWrite;Default Timeout=5");
        connection.Open();
    }

    public void Dispose()
    {
        connection.Dispose();
    }

    // Submits an order. Nothing changes if it is submitted twice.
    public void Submit(IOrder order)
    {
        var payload = JsonSerializer.Serialize(new
        {
            lines = order.Lines.Select(line => new
            {
                barcode = line.Barcode,
                quantity = line.Quantity,
                price = line.Price.ToString("0.00", CultureInfo.InvariantCulture),
            }).ToArray(),
        });
        using (var transaction = connection.BeginTransaction(deferred: false))   // BEGIN IMMEDIATE
        using (var insert = connection.CreateCommand())
        {
            insert.Transaction = transaction;
            insert.CommandText =
                "INSERT INTO intake(kind, reference, payload) " +
                "VALUES ('order', $reference, $payload)";
            insert.Parameters.AddWithValue("$reference", order.Number);
            insert.Parameters.AddWithValue("$payload", payload);
            insert.ExecuteNonQuery();
            transaction.Commit();
        }
    }

    // Takes over what became of an order, once that is final.
    public bool ReadReceipt(IOrder order)
    {
        using (var select = connection.CreateCommand())
        {
            select.CommandText = @"
                SELECT state, final, order_no, problems, next_step
                FROM v_document WHERE kind = 'order' AND reference = $reference
                ";
            select.Parameters.AddWithValue("$reference", order.Number);
            using (var reader = select.ExecuteReader())
            {
                if (!reader.Read() || reader.GetInt64(1) != 1) return false;
                order.State = reader.GetString(0);
                order.RemoteNumber = reader.IsDBNull(2) ? null : reader.GetString(2);
                order.Remark = reader.GetString(3) + " " + reader.GetString(4);
                return true;
            }
        }
    }

    // Takes over decisions and holds of packed deliveries. Numbers only grow: the ERP keeps the
    // last one, in the transaction in which it takes the rows over, and asks for those behind it.
    public int ReadOutcomes(IErp erp)
    {
        var count = 0;
        using (var news = connection.CreateCommand())
        {
            news.CommandText = @"
                SELECT outcome_id, order_delivery_id, order_no, delivery_no,
                  outcome, state, reason, problem
                FROM outcome WHERE outcome_id > $after ORDER BY outcome_id LIMIT 500
                ";
            news.Parameters.AddWithValue("$after", erp.LastOutcome);
            using (var outcomes = news.ExecuteReader())
            {
                while (outcomes.Read())
                {
                    // The service's id is always there; the numbers that people see may be missing.
                    var delivery = erp.Delivery(
                        (long)outcomes["order_delivery_id"],
                        outcomes["order_no"] as string, outcomes["delivery_no"] as string);
                    if (outcomes["state"] as string == "refused")
                    {
                        delivery.Remark = outcomes["problem"] as string;   // it was not carried out
                    }
                    else
                    {
                        // accept, hold, reject or release
                        delivery.Decision = outcomes["outcome"] as string;
                        delivery.Remark = outcomes["reason"] as string;
                    }
                    erp.LastOutcome = (long)outcomes["outcome_id"];
                    count += 1;
                }
            }
        }
        return count;
    }
}
