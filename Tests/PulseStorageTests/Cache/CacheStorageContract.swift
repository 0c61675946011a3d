// SPDX-License-Identifier: MIT

import PulseCore
import Testing

@testable import PulseStorage

/// What every store of the cache promises: each runs this list. Stores are made with a million bytes and 100 entries.
enum CacheStorageContract: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case givesBackWhatItKeeps
    case knowsNothingOfAnotherKey
    case replacesTheAnswerWithTheSameSelectingFields
    case keepsAnswersApartThatVaryByTheRequest
    case keepsAtMostEightVariantsOfAKey
    case takesABodyPieceByPiece
    case findsNothingBeforeACommit
    case findsNothingAfterADiscard
    case keepsNothingThatIsLargerThanAQuarter
    case variantsOfAKeyTakeAQuarterTogether
    case anAnswerTooLargeTakesThePlaceOfTheOneBefore
    case putsANewHeadOnABodyItGave
    case aBodyStaysWholeWhileItsEntryIsReplaced
    case letsGoOfTheLeastRecentlyUsedForCount
    case letsGoOfTheLeastRecentlyUsedForBytes
    case forgetsAURLInAllPartitions
    case forgetsAPrefix
    case forgetsATag
    case forgetsAPartition
    case forgetsEverything
    case keepsQueriesApartByTheirBody
    case keepsHeadersInOrderAndRepeated
    case keepsAnEmptyBody
    case keepsWhichPartsABodyHas
    case keepsHostileText
    case countsWhatItKeeps

    var testDescription: String { rawValue }

    static let maximumBytes = 1_000_000
    static let maximumEntries = 100

    func check(_ store: any CacheStorage) async throws {
        switch self {
        case .givesBackWhatItKeeps, .knowsNothingOfAnotherKey, .replacesTheAnswerWithTheSameSelectingFields,
            .keepsAnswersApartThatVaryByTheRequest, .keepsAtMostEightVariantsOfAKey:
            try await checkFinding(store)
        case .takesABodyPieceByPiece, .findsNothingBeforeACommit, .findsNothingAfterADiscard,
            .keepsNothingThatIsLargerThanAQuarter, .anAnswerTooLargeTakesThePlaceOfTheOneBefore,
            .variantsOfAKeyTakeAQuarterTogether,
            .putsANewHeadOnABodyItGave, .aBodyStaysWholeWhileItsEntryIsReplaced:
            try await checkBodies(store)
        case .letsGoOfTheLeastRecentlyUsedForCount, .letsGoOfTheLeastRecentlyUsedForBytes, .forgetsAURLInAllPartitions,
            .forgetsAPrefix, .forgetsATag, .forgetsAPartition, .forgetsEverything, .countsWhatItKeeps:
            try await checkLettingGo(store)
        case .keepsQueriesApartByTheirBody, .keepsHeadersInOrderAndRepeated, .keepsAnEmptyBody, .keepsHostileText,
            .keepsWhichPartsABodyHas:
            try await checkContents(store)
        }
    }
}

extension CacheKey {
    static func test(_ path: String, partition: String = "", digest: String? = nil) -> CacheKey {
        CacheKey(partition: partition, url: "https://api.example.com" + path, bodyDigest: digest)
    }
}

extension CachedHead {
    static func test(
        _ headers: HTTPHeaders = ["Content-Type": "text/plain"], language: String? = nil, tags: Set<String> = []
    ) -> CachedHead {
        CachedHead(
            statusCode: 200, headers: headers, requestTime: Date(timeIntervalSince1970: 1_767_225_600.25),
            responseTime: Date(timeIntervalSince1970: 1_767_225_601.5),
            selectingFields: [.init(name: "accept-language", value: language)], tags: tags)
    }
}

extension CacheStorage {
    @discardableResult
    func put(_ text: String, _ key: CacheKey, _ head: CachedHead = .test()) async throws -> Bool {
        try await store(CachedResponse(head: head, body: CachedBody(Data(text.utf8))), for: key)
    }

    /// The bodies under a key.
    func texts(_ key: CacheKey) async throws -> [String] {
        var texts: [String] = []
        for response in await responses(for: key) {
            texts.append(String(decoding: try await response.body.data(), as: UTF8.self))
        }
        return texts.sorted()
    }
}
